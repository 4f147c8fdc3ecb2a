"""Headers of limits, as vendors write them."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest
from support.cases import for_each

from trialbed_server.gateway.pacing import Rate, read_rates

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_those_of_openai_are_read() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert read_rates(headers, NOW) == {
        "requests": Rate(left=59, full=60, seconds=1),
        "tokens": Rate(left=149984, full=150000, seconds=360),
    }


def test_those_of_anthropic_are_read() -> None:
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:30Z",
    }
    assert read_rates(headers, NOW) == {"requests": Rate(left=0, full=50, seconds=30)}


@for_each(
    ("reset", "seconds"),
    [
        ("1s", 1.0),
        ("120ms", 0.12),
        ("7.66s", 7.66),
        ("2m59.56s", 179.56),
        ("1h0m1s", 3601.0),
        ("12", 12.0),
        ("-3", 0.0),
        ("2025-12-31T23:59:00", 0.0),
    ],
)
def test_times_are_read_in_all_their_forms(reset: str, seconds: float) -> None:
    headers = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": reset}
    assert read_rates(headers, NOW)["requests"] == Rate(1, inf, pytest.approx(seconds))


@for_each(
    ("left", "reset"),
    [("", "1s"), ("many", "1s"), ("nan", "1s"), ("1", ""), ("1", "soon"), ("1", "9" * 5000), ("9" * 5000, "1s")],
)
def test_what_cannot_be_read_says_nothing(left: str, reset: str) -> None:
    assert read_rates({"x-ratelimit-remaining-requests": left, "x-ratelimit-reset-requests": reset}, NOW) == {}
