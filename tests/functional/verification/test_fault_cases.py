"""Whatever a vendor does, every case ends in exactly one row, under its right name."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial

import pytest
from support.servers import until
from support.verification import outcomes, rows, stored, target, verify, written_set

from trialbed.wire import RetryWaits
from trialbed_scripted import FaultScript, serve

CASES = 2
GOOD = {("tool_calls", None), ("stop", None)}

STREAMED = [
    # fault, its outcomes, attempts at each case
    ("none", GOOD, 1),
    ("status:429,none", GOOD, 2),
    ("status:429", {("transport_error", "http_429")}, 3),
    ("status:500,none", GOOD, 2),
    ("status:500", {("transport_error", "http_500")}, 3),
    ("status:400", {("transport_error", "http_400")}, 1),
    ("status:401", {("transport_error", "http_401")}, 1),
    ("reset_before,none", GOOD, 2),
    ("reset_before", {("transport_error", "reset")}, 3),
    ("close_before", {("transport_error", "disconnected")}, 3),
    ("reset_midstream,none", GOOD, 2),
    ("reset_midstream", {("transport_error", "reset")}, 3),
    ("cut_stream", {("protocol_error", "cut_stream")}, 1),
    ("truncated", {("protocol_error", "cut_stream")}, 1),
    ("no_done", {("protocol_error", "no_done")}, 1),
    ("no_finish_reason", {("protocol_error", "no_finish_reason")}, 1),
    ("malformed_event", {("protocol_error", "malformed_event")}, 1),
    ("error_event", {("protocol_error", "error_event")}, 1),
    ("error_body", {("protocol_error", "error_body")}, 1),
    ("html", {("protocol_error", "html")}, 1),
    ("empty", {("protocol_error", "empty_stream")}, 1),
    ("wrong_content_type", {("protocol_error", "wrong_content_type")}, 1),
    ("null_message", {("protocol_error", "null_message")}, 1),
    ("no_choices", {("protocol_error", "no_finish_reason")}, 1),
    ("null_usage", GOOD, 1),
    ("usage_in_choice", GOOD, 1),
    ("no_index", {("tool_calls", None)}, 1),
    ("name_fragments", {("tool_calls", None)}, 1),
    ("two_choices", GOOD, 1),
    ("reasoning", GOOD, 1),
    ("finish", {("other", None)}, 1),
    ("calls_with_stop", {("stop", None)}, 1),
    ("unknown_tool", {("tool_calls", None)}, 1),
    ("bad_arguments", {("tool_calls", None)}, 1),
]

WHOLE = [
    ("none", GOOD, 1),
    ("status:503,none", GOOD, 2),
    ("reset_before,none", GOOD, 2),
    ("reset_midstream", {("transport_error", "reset")}, 3),
    ("cut_stream", {("protocol_error", "cut_body")}, 1),
    ("truncated", {("protocol_error", "malformed_body")}, 1),
    ("no_finish_reason", {("protocol_error", "no_finish_reason")}, 1),
    ("error_body", {("protocol_error", "error_body")}, 1),
    ("html", {("protocol_error", "html")}, 1),
    ("empty", {("protocol_error", "empty_body")}, 1),
    ("null_message", {("protocol_error", "null_message")}, 1),
    ("no_choices", {("protocol_error", "no_choices")}, 1),
    ("null_usage", GOOD, 1),
    ("usage_in_choice", GOOD, 1),
    ("two_choices", GOOD, 1),
    ("finish", {("other", None)}, 1),
]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_verify.verification.sending.RetryWaits", partial(RetryWaits, first=0.001))


@pytest.mark.parametrize(("faults", "stream"), [(STREAMED, True), (WHOLE, False)], ids=["streamed", "whole"])
async def test_every_case_ends_once_and_under_its_right_name(faults, stream, tmp_path):
    """Each fault is a vendor's of its own, and all vendors are verified at once."""
    file = written_set(tmp_path / "set.jsonl", CASES, stream=stream)
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serve(faults=script)) for script, _, _ in faults]
        folders = [tmp_path / str(number) for number in range(len(faults))]
        targets = [target(server.url, folder) for server, folder in zip(servers, folders, strict=True)]
        summaries = await verify(file, *targets, retries=2, request_concurrency=3)
    for (script, right, attempts), folder, server, summary in zip(faults, folders, servers, summaries, strict=True):
        found = rows(folder / "results.jsonl")
        assert [row["data_index"] for row in found] == list(range(1, CASES + 1)), script
        assert outcomes(found) <= right, script
        assert {len(row["attempts"]) for row in found} == {attempts}, script
        assert sum(server.met.values()) == CASES * attempts, script
        assert summary["success_count"] + summary["failure_count"] == summary["case_count"] == CASES, script
        assert summary["not_sent"] == 0, script


@pytest.mark.parametrize("stream", [True, False])
async def test_a_vendor_that_never_answers_is_given_up_in_time(stream, tmp_path):
    file = written_set(tmp_path / "set.jsonl", CASES, stream=stream)
    async with serve(faults="silent") as server:
        await verify(file, target(server.url, tmp_path), timeout=0.5, retries=0, request_concurrency=CASES)
    found = rows(tmp_path / "results.jsonl")
    assert [row["data_index"] for row in found] == list(range(1, CASES + 1))
    assert outcomes(found) == {("timeout", "timeout")}
    assert {len(row["attempts"]) for row in found} == {1}


async def test_retry_after_is_honoured_and_no_part_of_any_latency(tmp_path):
    file = written_set(tmp_path / "set.jsonl", 2, stream=True)
    script = FaultScript.read('[{"fault": "status", "status": 429, "retry_after": 1}, "none"]')
    async with serve(faults=script) as server:
        await verify(file, target(server.url, tmp_path))
    for row in rows(tmp_path / "results.jsonl"):
        first, second = row["attempts"]
        assert first["retry_after_s"] == 1
        assert second["waited_ms"] >= 1000
        assert row["ttft_ms"] < second["waited_ms"]
        assert row["duration_ms"] < second["waited_ms"]


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_vendor_that_waits_for_its_next_probe_holds_no_other_up(retries, tmp_path, monkeypatch):
    monkeypatch.setattr("trialbed_verify.verification.sending.PROBE_DELAY", 3600.0)
    file = written_set(tmp_path / "set.jsonl", 40)
    async with serve(faults="status:500") as failing, serve(faults="none") as good:
        targets = [target(failing.url, tmp_path / "failing"), target(good.url, tmp_path / "good")]
        verifying = asyncio.create_task(verify(file, *targets, retries=retries, request_concurrency=3))
        await until(lambda: stored(tmp_path, targets[1].name) == 40)
        verifying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await verifying
        assert 20 <= failing.met.total() <= 22
    attempts = [attempt for row in rows(tmp_path / "failing" / "results.jsonl") for attempt in row["attempts"]]
    # What the cases that wait had of attempts has no row yet.
    assert 20 - 3 * retries <= len(attempts) <= failing.met.total()
