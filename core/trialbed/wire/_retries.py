"""Rules for retries, with the statuses, the number of attempts and the waits."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf, isfinite

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, *range(520, 600)})
"""Statuses of HTTP after which the same request may be answered."""

NO_CREDIT = "insufficient_quota"
"""The code of a refusal with status 429 after which waiting does not help."""

SPREAD = 0.5
"""Requests that were asked to wait for the same time are spread over this many seconds."""


@dataclass(frozen=True)
class RetryWaits:
    """The waits between attempts, as long as the endpoint asks, or with exponential backoff and jitter.

    Attributes:
        retries: attempts after the first, at most.
        patience: seconds for all attempts and waits, after which no further one begins; 0 disables retries.
        first, longest: seconds before the first retry, doubled for each further one, and before any.
        least: the share of these seconds that is waited at least; the rest is drawn at random (0: full jitter).
        most_asked: seconds that an endpoint may ask to wait; if it asks for more, there is no retry.
        draw: a random number between two others.
    """

    retries: int = 8
    patience: float = 120.0
    first: float = 0.5
    longest: float = 30.0
    least: float = 0.0
    most_asked: float = inf
    draw: Callable[[float, float], float] = random.uniform

    def wait(self, number: int, elapsed: float, asked: float | None) -> float | None:
        """Return the seconds to wait before the next attempt, or None to give up.

        Args:
            number: of the attempt that failed, from 1.
            elapsed: seconds so far.
            asked: the seconds of the endpoint's ``Retry-After``; 0 asks for nothing.
        """
        if number > self.retries or not self.patience or (asked or 0.0) > self.most_asked:
            return None
        if asked:
            seconds = asked + self.draw(0.0, SPREAD)
        else:
            longest = min(self.longest, self.first * 2.0 ** (number - 1))
            seconds = self.draw(self.least * longest, longest)
        return seconds if elapsed + seconds <= self.patience else None


def may_recover(status: int, body: str = "") -> bool:
    """Return whether the same request may be answered later, after a refusal with this status and body."""
    return status in TRANSIENT and not (status == 429 and NO_CREDIT in body)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that an endpoint asks to wait before the next request, or None if it asks for nothing.

    Read from ``Retry-After`` (RFC 9110, section 10.2.3: seconds or a date), or from the more exact ``retry-after-ms``
    of OpenAI and Azure. Unreadable values ask for nothing.

    Args:
        headers: of the response; upper and lower case must not matter in their names.
        now: the time that a date is compared with, by default this machine's.
    """
    value = headers.get("retry-after")
    for seconds, unit in ((headers.get("retry-after-ms"), 1000.0), (value, 1.0)):
        with suppress(ValueError):
            if isfinite(number := float(seconds or "")):
                return max(0.0, number) / unit
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(value or "")
        # A date that says -0000 has no zone; HTTP dates are UTC.
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds())
    return None
