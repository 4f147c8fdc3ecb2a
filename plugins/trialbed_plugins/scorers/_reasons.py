"""The reasons for scores, in words."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Json
from trialbed.tool_calls import AskedCall

UNOBSERVED = "the agent's calls are not observed"
"""The reason that a trial with the agent's own tools has no scores for calls."""

SHOWN = 5
"""Most calls in a reason."""


def reason(causes: Iterable[str], otherwise: str = "") -> dict[str, Json]:
    """Return the part of a score's detail that explains a bad value.

    Args:
        otherwise: the reason without causes; empty to leave it out.
    """
    found = list(causes)
    if not found:
        return {"reason": otherwise} if otherwise else {}
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return {"reason": "; ".join([*found[:SHOWN], *more])}


def title(call: AskedCall) -> str:
    return call.api.title if call.api else call.name
