"""Rules for another attempt: after which statuses, and how long a busy endpoint asks to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 600)})
"""Statuses of HTTP after which the same request may be answered."""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that an endpoint asks to wait before the next request; None if it asks for nothing that can be read.

    Read from ``Retry-After`` (RFC 9110, section 10.2.3: seconds or a date), or from ``retry-after-ms``, which OpenAI
    and Azure send and which is more exact.

    Args:
        headers: of the response; upper and lower case must not matter in their names.
        now: the time from which a date counts; that of this machine by default.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    return seconds if seconds is not None or value is None else _until(value, now or datetime.now(UTC))


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if isfinite(number) else None


def _until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        # A date that says -0000 has no zone; HTTP dates are UTC.
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
