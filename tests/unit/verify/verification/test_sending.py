"""Every case ends in one row or is left; targets take turns; a vendor that only fails is left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.verification import KEY, rows, target, verify, written_set

from trialbed.contracts import Vendor
from trialbed.errors import DriverBroken
from trialbed.wire import Outcome, Problem, Reading
from trialbed_scripted import serve
from trialbed_verify.verification import sending
from trialbed_verify.verification.exchange import EndpointAttempt
from trialbed_verify.verification.sending import VendorCircuit, VendorDown, is_transient, retry_waits


async def test_targets_take_turns_a_block_at_a_time(tmp_path: Path) -> None:
    file = written_set(tmp_path / "set.jsonl", 10)
    async with serve() as one, serve() as other:
        targets = [target(one.url, tmp_path / "a"), target(other.url, tmp_path / "b")]
        await verify(file, *targets, request_concurrency=1)
    found = [
        (row["attempts"][0]["started_at"], name) for name in "ab" for row in rows(tmp_path / name / "results.jsonl")
    ]
    blocks = [(name, len(list(own))) for name, own in groupby(name for _, name in sorted(found))]
    assert blocks == [("a", 4), ("b", 4), ("a", 4), ("b", 4), ("a", 2), ("b", 2)]


class Odd(Vendor):
    def __init__(self, made: Any) -> None:
        super().__init__(base_url="http://127.0.0.1:1/v1")
        self.made = made

    def headers(self, api_key: str) -> dict[str, str]:
        if isinstance(self.made, Exception):
            raise self.made
        return super().headers(api_key) | self.made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (KeyError(f"region of {KEY}"), r"request headers: KeyError: 'region of \[redacted\]'"),
        ({"X-Region": None}, "header X-Region that is not one line of text"),
        ({"X-Region": "eu\r\nX-Other: 1"}, "header X-Region that is not one line of text"),
        ({"X Region": "eu"}, "whose name is not valid"),
        ({5: "eu"}, "whose name is not valid"),
    ],
)
async def test_headers_that_cannot_be_sent_are_named_before_anything_is(
    made: Any, message: str, tmp_path: Path
) -> None:
    one = replace(target("http://127.0.0.1:1/v1", tmp_path), vendor=Odd(made))
    with pytest.raises(DriverBroken, match=message) as caught:
        await verify(written_set(tmp_path / "set.jsonl", 1), one)
    assert KEY not in str(caught.value)


def attempt(
    outcome: Outcome = "transport_error", status: int | None = None, wait: float | None = None
) -> EndpointAttempt:
    return EndpointAttempt(datetime.now(UTC), 0.0, status, None, 0.1, Reading(outcome), wait)


@for_each("status", [None, 408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again_with_growing_pauses(status: int | None) -> None:
    assert is_transient(attempt(status=status))
    waits = [retry_waits(5).wait(number, 0.0, None) for number in (1, 3, 5)]
    assert 0 < waits[0] < waits[1] < waits[2] < 20  # type: ignore[operator]


@for_each("status", [400, 401, 402, 403, 404, 422])
def test_a_refusal_is_final(status: int) -> None:
    assert not is_transient(attempt(status=status))


@for_each("outcome", ["stop", "tool_calls", "other", "protocol_error"])
def test_an_answer_is_never_asked_for_twice_however_bad(outcome: Outcome) -> None:
    assert not is_transient(attempt(outcome, 200))
    assert is_transient(attempt("timeout"))


def test_what_the_endpoint_asks_for_is_waited_unless_it_is_beyond_reason() -> None:
    assert 7 <= retry_waits(3).wait(1, 0.0, 7) <= 7.5  # type: ignore[operator]
    assert retry_waits(3).wait(1, 0.0, 121) is None
    assert retry_waits(3).wait(1, 0.0, 0.0) > 0.1  # type: ignore[operator]


def test_an_account_without_credit_is_asked_no_more() -> None:
    said = Problem("http_429", 'the endpoint answered with status 429: {"error": {"code": "insufficient_quota"}}')
    refused = EndpointAttempt(datetime.now(UTC), 0.0, 429, None, 0.1, Reading("transport_error", problem=said), None)
    assert not is_transient(refused)
    breaker = VendorCircuit()
    breaker.record(attempt("stop", 200))
    breaker.record(refused)
    assert breaker.is_down


async def test_a_vendor_is_down_when_its_probes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2, probes=3)
    for _ in range(5):
        async with breaker.guard():
            breaker.record(attempt("timeout"))
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


def failed(kind: str, status: int | None = None) -> EndpointAttempt:
    reading = Reading("transport_error", problem=Problem(kind, "no"))
    return EndpointAttempt(datetime.now(UTC), 0.0, status, None, 0.1, reading)


@pytest.mark.parametrize(
    ("kind", "status"), [("connect", None), ("http_401", 401), ("http_404", 404), ("http_307", 307)]
)
async def test_where_nobody_ever_answered_and_none_will_it_is_not_probed(kind: str, status: int | None) -> None:
    breaker = VendorCircuit(threshold=2)
    for _ in range(2):
        breaker.record(failed(kind, status))
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


@for_each("status", [400, 413, 422])
def test_refused_requests_do_not_put_a_vendor_in_doubt_that_answers_others(status: int) -> None:
    breaker = VendorCircuit(threshold=2)
    breaker.record(attempt("stop", 200))
    for _ in range(50):
        breaker.record(failed(f"http_{status}", status))
    assert not breaker.is_open
