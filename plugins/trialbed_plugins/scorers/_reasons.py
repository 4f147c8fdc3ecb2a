"""The reasons of scores, in words."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Json
from trialbed.tool_calls import AskedCall

UNOBSERVED = "the agent's calls are not observed"
"""The reason why a trial of an agent with its own tools has no score of calls."""

SHOWN = 5
"""Calls that a reason names."""


def reason(causes: Iterable[str], otherwise: str = "") -> dict[str, Json]:
    """The part of a score's detail that says why it is not as it should be.

    Args:
        otherwise: what to say where no cause is known; nothing if it is empty.
    """
    found = list(causes)
    if not found:
        return {"reason": otherwise} if otherwise else {}
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return {"reason": "; ".join([*found[:SHOWN], *more])}


def title(call: AskedCall) -> str:
    """Name a call."""
    return call.api.title if call.api else call.name
