"""Every case ends in one row or is left; targets take turns; a vendor that only fails is left alone."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.verification import KEY, rows, target, verify, written_set

from trialbed.contracts import Vendor
from trialbed.errors import DriverBroken, TrialbedError, UsageError
from trialbed.wire import Outcome, Problem, Reading, RetryWaits
from trialbed.wire.circuit import CircuitOpen
from trialbed_scripted import serve
from trialbed_verify.verification import sending
from trialbed_verify.verification.exchange import EndpointAttempt
from trialbed_verify.verification.sending import (
    LagMeter,
    VendorCircuit,
    VendorDown,
    is_transient,
    retry_waits,
    take_turn,
)


def short_waits(retries: int) -> RetryWaits:
    return RetryWaits(retries, patience=3600.0, first=0.0001, longest=0.001)


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


async def test_a_case_goes_on_where_its_vendor_was_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.05)
    monkeypatch.setattr("trialbed_verify.verification.run.retry_waits", short_waits)
    file = written_set(tmp_path / "set.jsonl", 1)
    script = ",".join(["status:500"] * 21 + ["none"])
    async with serve(faults=script) as failing, serve() as good:
        targets = [target(failing.url, tmp_path / "failing"), target(good.url, tmp_path / "good")]
        await verify(file, *targets, retries=30)
    (row,) = rows(tmp_path / "failing" / "results.jsonl")
    assert (row["status"], len(row["attempts"])) == ("success", 22)
    # The wait for a probe counts as waiting before its attempt, and as time in the queue.
    assert all(attempt["waited_ms"] > 40 for attempt in row["attempts"][20:])
    assert row["queued_ms"] > 40


async def test_a_case_that_has_begun_ends_though_its_vendor_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.001)
    monkeypatch.setattr("trialbed_verify.verification.run.retry_waits", short_waits)
    file = written_set(tmp_path / "set.jsonl", 3)
    async with serve(faults="status:500") as failing, serve() as good:
        targets = [target(failing.url, tmp_path / "failing"), target(good.url, tmp_path / "good")]
        summary, _ = await verify(file, *targets, retries=100, request_concurrency=1)
        assert failing.met.total() == 25
    (row,) = rows(tmp_path / "failing" / "results.jsonl")
    assert (row["status"], len(row["attempts"])) == ("failed", 25)
    assert (summary["case_count"], summary["not_sent"]) == (1, 2)


async def test_a_case_that_is_lost_on_the_way_is_a_loud_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_verify.verification.run.write_rows", lambda *_: None)
    file = written_set(tmp_path / "set.jsonl", 3)
    async with serve() as server:
        with pytest.raises(TrialbedError, match=r"cases were lost.*3 cases were stored or completed, and 0 are stored"):
            await verify(file, target(server.url, tmp_path))


async def test_an_answer_that_is_there_is_kept_even_if_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, turns = asyncio.Event(), list[int]()

    async def take_two_turns(_: asyncio.Lock) -> None:
        turns.append(1)
        if len(turns) > 1:
            answered.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(sending, "take_turn", take_two_turns)
    file = written_set(tmp_path / "set.jsonl", 1)
    async with serve() as server:
        verification = asyncio.create_task(verify(file, target(server.url, tmp_path)))
        await answered.wait()
        verification.cancel()
        with pytest.raises(asyncio.CancelledError):
            await verification
    assert [row["status"] for row in rows(tmp_path / "results.jsonl")] == ["success"]


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


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (KeyError("tier"), DriverBroken, r"127.0.0.1:1: .* could not prepare line 1: KeyError: 'tier'"),
        (UsageError("no tokenizer"), UsageError, "^no tokenizer$"),
    ],
)
async def test_a_driver_that_fails_before_anything_is_sent_is_named_with_the_line(
    error: Exception, raised: type[Exception], message: str, tmp_path: Path
) -> None:
    class Careless(Vendor):
        def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:
            raise error

    one = replace(target("http://127.0.0.1:1/v1", tmp_path), vendor=Careless(base_url="http://127.0.0.1:1/v1"))
    with pytest.raises(raised, match=message):
        await verify(written_set(tmp_path / "set.jsonl", 1), one)


async def test_pieces_of_work_are_done_one_by_one_with_a_look_at_the_network_between() -> None:
    turns, done = asyncio.Lock(), list[str]()

    async def work(name: str) -> None:
        await take_turn(turns)
        done.append(name)

    async def network() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            done.append("look")

    await asyncio.gather(*(work(name) for name in "abcdef"), network())
    first, last = done.index("a"), done.index("f")
    assert [name for name in done if name != "look"] == list("abcdef")
    assert "look" in done[first:last]


async def test_a_loop_that_was_held_up_is_seen_where_it_was() -> None:
    lag, clock = LagMeter(), asyncio.get_running_loop().time
    watching = asyncio.create_task(lag.watch())
    await asyncio.sleep(0.02)
    begun = clock()
    time.sleep(0.2)  # noqa: ASYNC251 - holding the loop up is the point
    await asyncio.sleep(0.02)
    assert lag.since(begun) > 0.1
    assert lag.since(clock() + 5) == 0.0
    watching.cancel()


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


def test_it_ends_after_so_many_retries_or_after_an_hour() -> None:
    assert retry_waits(2).wait(3, 0.0, None) is None
    assert retry_waits(2).wait(1, 3599.9, None) is None
    assert retry_waits(2).wait(1, 3590.0, None) is not None


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


async def test_a_breaker_lets_one_probe_through_at_a_time_and_closes_on_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker, inside, most = VendorCircuit(threshold=2), 0, 0
    for _ in range(2):
        breaker.record(attempt())

    async def request() -> None:
        nonlocal inside, most
        async with breaker.guard():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(request() for _ in range(5)))
    assert most == 1
    breaker.record(attempt("protocol_error"))
    assert not breaker.is_open


async def test_a_vendor_is_down_when_its_probes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2, probes=3)
    for _ in range(5):
        async with breaker.guard():
            breaker.record(attempt("timeout"))
    with pytest.raises(VendorDown):
        async with breaker.guard():
            raise AssertionError("a request was let through")


async def test_attempts_under_way_when_it_opens_are_no_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2, probes=2)
    for _ in range(200):
        breaker.record(attempt(status=503))
    async with breaker.guard():
        breaker.record(attempt(status=503))
    async with breaker.guard():
        breaker.record(attempt("stop"))
    assert not breaker.is_open


async def test_who_waited_for_a_probe_that_is_answered_waits_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker, entered = VendorCircuit(threshold=1), asyncio.Barrier(3)
    breaker.record(attempt(status=503))

    async def request() -> None:
        async with breaker.guard():
            await entered.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group, breaker.guard():
        for _ in range(3):
            group.create_task(request())
        await asyncio.sleep(0)
        breaker.record(attempt("stop"))


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


@pytest.mark.parametrize(("kind", "status"), [("reset", None), ("http_503", 503), ("http_400", 400)])
async def test_where_there_is_hope_it_is_probed(kind: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PROBE_DELAY", 0.0)
    breaker = VendorCircuit(threshold=2)
    for _ in range(2):
        breaker.record(failed(kind, status))
    async with breaker.guard():
        breaker.record(attempt("stop", 200))
    assert not breaker.is_open


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_who_has_better_to_do_is_told_how_long_a_vendor_is_left_alone() -> None:
    clock = Clock()
    breaker, pauses = VendorCircuit(threshold=2, probes=3, blocking=False, clock=clock), []
    for _ in range(2):
        async with breaker.guard():
            assert breaker.pause == 0
            breaker.record(attempt())
    for _ in range(3):
        pauses.append(breaker.pause)
        clock.now += breaker.pause - 0.25
        assert breaker.pause == 0.25
        with pytest.raises(CircuitOpen):
            async with breaker.guard():
                raise AssertionError("a request was let through")
        clock.now += 0.25
        async with breaker.guard():
            breaker.record(attempt())
    assert pauses == [1, 2, 4]
    assert (breaker.is_down, breaker.pause) == (True, 0)
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
