"""When a request is repeated, and what an endpoint asks for."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from support.cases import for_each

from trialbed.wire import RetryWaits, retry_after

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@for_each(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_seconds_dates_and_milliseconds_are_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def longest(_low: float, high: float) -> float:
    return high


@for_each(
    ("number", "elapsed", "asked", "seconds"),
    [
        (1, 0, None, 0.5),
        (2, 0, None, 1.0),
        (5, 0, None, 8.0),
        (8, 0, None, 30.0),
        (9, 0, None, None),  # there are 8 retries
        (8, 90.5, None, None),  # there are 120 seconds
        (1, 0, 0.0, 0.5),  # asks for nothing
        (1, 0, 7.0, 7.5),
        (8, 0, 119.5, 120.0),
        (1, 1, 119.5, None),
        (1, 0, 3600.0, None),
    ],
)
def test_waits_double_unless_the_endpoint_asks_and_end_with_the_patience(
    number: int, elapsed: float, asked: float | None, seconds: float | None
) -> None:
    assert RetryWaits(draw=longest).wait(number, elapsed, asked) == seconds


def test_waits_are_spread() -> None:
    drawn = random.Random(1)
    waits = {RetryWaits(draw=drawn.uniform).wait(4, 0, None) for _ in range(50)}
    assert len(waits) == 50
    assert all(wait is not None and 0 <= wait <= 4 for wait in waits)
