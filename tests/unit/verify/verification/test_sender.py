from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.verification import target

from trialbed.contracts import ModelAdapter, Vendor
from trialbed.errors import DriverBroken, UsageError
from trialbed.wire import Problem, Reading, RetryWaits
from trialbed.wire.circuit import CircuitOpen
from trialbed_verify.verification import Case
from trialbed_verify.verification._event_loop import LagMeter
from trialbed_verify.verification._retries import VendorCircuit
from trialbed_verify.verification._sender import Sender
from trialbed_verify.verification.exchange import EndpointAttempt

CASE = Case(7, "c0ffee", {"messages": [], "tools": []})
CALL = {"id": "functions.look:0", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def answer(**choice: Any) -> Reading:
    return Reading("stop", "stop", {"choices": [{"index": 0, "finish_reason": "stop", **choice}]})


def sender(
    folder: Path,
    readings: list[Reading],
    *,
    adapter: Any = None,
    vendor: Any = None,
    raw: bool = False,
    breaker: VendorCircuit | None = None,
) -> Sender:
    """A sender whose attempts end as told, one after the other."""
    found = list(readings)

    async def exchange(prepared: Any, names: Any, waited: float) -> EndpointAttempt:
        return EndpointAttempt(datetime.now(UTC), waited, None, None, 0.1, found.pop(0))

    one = target("http://h/v1", folder, tokenizer="t" if raw else None)
    one = replace(one, adapter=adapter or one.adapter, vendor=vendor or one.vendor)
    return Sender(one, exchange, RetryWaits(2, first=0.001), breaker or VendorCircuit(), LagMeter(), asyncio.Lock())  # type: ignore[arg-type]


async def send_case(one: Sender) -> dict[str, Any]:
    """The row of the case, when it has ended."""
    rows: list[dict[str, Any]] = []
    await one.send(CASE, 0, rows.append)
    (row,) = rows
    return row


class Raw(ModelAdapter):
    contract = "1"

    @classmethod
    def recognises(cls, model: str) -> bool:
        return True

    def prompt(self, messages: Any, tools: Any, tokenizer: str) -> str:
        return "prompt"

    def calls_of(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        if text == "broken":
            raise KeyError("section")
        return ("", [CALL]) if text == "calls" else (text, [])


async def test_a_case_has_one_row_of_all_its_attempts(tmp_path: Path) -> None:
    reset = Reading("transport_error", problem=Problem("reset", "gone"))
    row = await send_case(sender(tmp_path, [reset, answer(message={"content": "hi"})]))
    assert (row["outcome"], len(row["attempts"])) == ("stop", 2)
    assert row["attempts"][0]["problem"]["kind"] == "reset"


async def test_a_retry_is_a_probe_where_the_vendor_only_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_verify.verification._retries.PROBE_DELAY", 0.3)
    reset = Reading("transport_error", problem=Problem("reset", "gone"))
    breaker = VendorCircuit(threshold=1)
    row = await send_case(sender(tmp_path, [reset, answer(message={"content": "hi"})], breaker=breaker))
    assert (row["outcome"], len(row["attempts"])) == ("stop", 2)
    # Of the delay of the probe, the wait for a retry is a small part. Timers may end a moment early.
    assert row["attempts"][1]["waited_ms"] > 250
    assert row["queued_ms"] > 250


async def pause_vendor(one: Sender, clock: list[float]) -> None:
    """Send the case to a vendor that is left alone after the first attempt, until another may be made."""
    kept: list[dict[str, Any]] = []
    with pytest.raises(CircuitOpen):
        await one.send(CASE, 0, kept.append)
    assert (kept, one.breaker.pause) == ([], 1.0)
    clock[0] += one.breaker.pause


async def test_a_case_goes_on_where_its_vendor_was_left_alone(tmp_path: Path) -> None:
    reset, clock = Reading("transport_error", problem=Problem("reset", "gone")), [100.0]
    breaker = VendorCircuit(threshold=1, blocking=False, clock=lambda: clock[0])
    one = sender(tmp_path, [reset, answer(message={"content": "hi"})], breaker=breaker)
    await pause_vendor(one, clock)
    row = await send_case(one)
    assert (row["outcome"], one.breaker.pause) == ("stop", 0.0)
    assert [attempt["problem"] and attempt["problem"]["kind"] for attempt in row["attempts"]] == ["reset", None]


async def test_a_case_that_has_begun_ends_though_its_vendor_is_given_up(tmp_path: Path) -> None:
    reset, clock = Reading("transport_error", problem=Problem("reset", "gone")), [100.0]
    breaker = VendorCircuit(threshold=1, probes=1, blocking=False, clock=lambda: clock[0])
    one = sender(tmp_path, [reset], breaker=breaker)
    await pause_vendor(one, clock)
    async with breaker.guard():
        breaker.record(EndpointAttempt(datetime.now(UTC), 0.0, None, None, 0.1, reset))
    assert breaker.is_down
    row = await send_case(one)
    assert (row["outcome"], len(row["attempts"])) == ("transport_error", 1)


async def test_a_case_whose_vendor_is_given_up_before_its_retry_ends_as_it_is(tmp_path: Path) -> None:
    refused = Reading("transport_error", problem=Problem("connect", "nobody"))
    row = await send_case(sender(tmp_path, [refused], breaker=VendorCircuit(threshold=1)))
    assert (row["outcome"], len(row["attempts"])) == ("transport_error", 1)


@pytest.mark.parametrize("place", [{"text": "calls"}, {"message": {"role": "assistant", "content": "calls"}}])
async def test_the_calls_of_a_raw_completion_decide_how_it_ended(place: Any, tmp_path: Path) -> None:
    row = await send_case(sender(tmp_path, [answer(**place)], adapter=Raw(), raw=True))
    assert (row["outcome"], row["finish_reason"], row["tool_calls_valid"]) == ("tool_calls", "tool_calls", False)
    assert row["calls"][0]["reasons"] == ["unknown_tool"]
    assert row["response"]["choices"][0]["message"]["tool_calls"] == [CALL]


@pytest.mark.parametrize("text", ["no calls", None, 7, ["calls"]])
async def test_a_raw_completion_without_calls_stays_as_it_is(text: Any, tmp_path: Path) -> None:
    row = await send_case(sender(tmp_path, [answer(text=text)], adapter=Raw(), raw=True))
    assert (row["outcome"], row["calls"]) == ("stop", [])
    assert "raw_calls_unreadable" not in row["notes"]


async def test_an_adapter_that_fails_costs_no_answer(tmp_path: Path) -> None:
    row = await send_case(sender(tmp_path, [answer(text="broken")], adapter=Raw(), raw=True))
    assert row["outcome"] == "stop"
    assert "raw_calls_unreadable" in row["notes"]


async def test_a_driver_that_fails_before_anything_is_sent_is_named_with_the_line(tmp_path: Path) -> None:
    class Careless(Vendor):
        def prepare(self, request: dict[str, Any], model: str) -> dict[str, Any]:
            raise KeyError("tier")

    broken = sender(tmp_path, [], vendor=Careless(base_url="http://h/v1"))
    with pytest.raises(DriverBroken, match=r"h: .* could not prepare line 7: KeyError: 'tier'"):
        broken.prepare(CASE)


async def test_what_a_driver_says_on_purpose_is_told_as_it_is(tmp_path: Path) -> None:
    class Without(Raw):
        def prompt(self, messages: Any, tools: Any, tokenizer: str) -> str:
            raise UsageError("no tokenizer")

    with pytest.raises(UsageError, match=r"^no tokenizer$"):
        sender(tmp_path, [], adapter=Without(), raw=True).prepare(CASE)


async def test_an_answer_that_is_there_is_kept_even_if_it_is_cancelled(tmp_path: Path) -> None:
    one, rows = sender(tmp_path, [answer(message={"content": "hi"})]), list[dict[str, Any]]()
    answered = asyncio.Event()

    async def exchange(prepared: Any, names: Any, waited: float) -> EndpointAttempt:
        await one.turns.acquire()
        answered.set()
        return EndpointAttempt(datetime.now(UTC), waited, 200, None, 0.1, answer(message={"content": "hi"}))

    one.exchange = exchange  # type: ignore[assignment]
    task = asyncio.create_task(one.send(CASE, 0, rows.append))
    await answered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [row["outcome"] for row in rows] == ["stop"]
