"""Headers in which endpoints say how much is left of their limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite
from typing import Literal, get_args

Kind = Literal["requests", "tokens"]

FORMS = ("x-ratelimit-{part}-{kind}", "anthropic-ratelimit-{kind}-{part}")
"""The names of the headers: those of OpenAI and the vendors that follow it, and Anthropic's."""

LONGEST = 40
"""Characters of a value."""

DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)
SECONDS = (3600.0, 60.0, 1.0, 0.001)


@dataclass(frozen=True)
class Rate:
    """One limit of an endpoint.

    Attributes:
        left: the rest of it.
        full: all of it; infinite where that is not said.
        seconds: until all of it is there again.
    """

    left: float
    full: float
    seconds: float


def read_rates(headers: Mapping[str, str], now: datetime) -> dict[Kind, Rate]:
    """Read the limits that an answer names; those that say how much is left, and until when.

    Args:
        headers: upper and lower case must not matter in their names.
        now: the time from which dates count.
    """
    found: dict[Kind, Rate] = {}
    for kind in get_args(Kind):
        for form in FORMS:
            left, full, reset = (_value(headers, form, kind, part) for part in ("remaining", "limit", "reset"))
            amount, seconds = _number(left), _seconds(reset, now)
            if amount is not None and seconds is not None:
                found[kind] = Rate(amount, _number(full) or inf, seconds)
    return found


def _value(headers: Mapping[str, str], form: str, kind: str, part: str) -> str:
    return headers.get(form.format(part=part, kind=kind), "").strip()[: LONGEST + 1]


def _number(text: str) -> float | None:
    try:
        number = float(text) if len(text) <= LONGEST else inf
    except ValueError:
        return None
    return max(0.0, number) if isfinite(number) else None


def _seconds(text: str, now: datetime) -> float | None:
    """Read a time as endpoints write it: ``6m0s``, ``120ms``, a number of seconds, or a date in ISO 8601."""
    if len(text) > LONGEST or not text:
        return None
    number = _number(text)
    if number is not None:
        return number
    parts = DURATION.fullmatch(text)
    if parts:
        return sum(float(part) * unit for part, unit in zip(parts.groups(), SECONDS, strict=True) if part)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
