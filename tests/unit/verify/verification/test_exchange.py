"""What is kept of an exchange that is given up."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.verification import rows, target, verify, written_set
from support.wire import CHUNKS, EVENTS, reply, saying

from trialbed_verify.verification import exchange as _exchange
from trialbed_verify.verification.exchange import Exchange


async def test_a_stream_that_is_whole_is_kept_if_it_is_given_up_before_its_body_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draining, drain = asyncio.Event(), Exchange._drain

    async def watched(self: Exchange, *arguments: Any) -> None:
        draining.set()
        await drain(self, *arguments)

    monkeypatch.setattr(Exchange, "_drain", watched)
    monkeypatch.setattr(_exchange, "LINGER", 3600)
    file = written_set(tmp_path / "set.jsonl", 1, stream=True)
    unclosed = reply(
        "Transfer-Encoding: chunked", body=b"%x\r\n%s\r\n" % (len(EVENTS), EVENTS), kind="text/event-stream"
    )
    async with saying(unclosed, linger=True) as server:
        verification = asyncio.create_task(verify(file, target(server.url, tmp_path), timeout=3600))
        await draining.wait()
        verification.cancel()
        with pytest.raises(asyncio.CancelledError):
            await verification
    (row,) = rows(tmp_path / "results.jsonl")
    assert (row["outcome"], row["problem"]) == ("stop", None)
    assert json.loads((tmp_path / "summary.json").read_text())["success_count"] == 1


@pytest.mark.parametrize(
    "later", [b"zz\r\nhello\r\n", b"-1\r\nhello", b"5\nhello"], ids=["no number", "below 0", "line end"]
)
async def test_malformed_chunks_end_an_attempt_at_once(
    later: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come after the headers were read: then nothing but the connection's end shows them."""
    seen, read = asyncio.Event(), Exchange._events

    async def watched(self: Exchange, *arguments: Any) -> Any:
        seen.set()
        return await read(self, *arguments)

    monkeypatch.setattr(Exchange, "_events", watched)
    file = written_set(tmp_path / "set.jsonl", 1, stream=True)
    begun = b"data: " + json.dumps(CHUNKS[0]).encode() + b"\n\n"
    first = reply("Transfer-Encoding: chunked", body=b"%x\r\n%s\r\n" % (len(begun), begun), kind="text/event-stream")
    async with saying(first, later=later, seen=seen) as server:
        await verify(file, target(server.url, tmp_path), timeout=3600, retries=0)
    (row,) = rows(tmp_path / "results.jsonl")
    assert (row["outcome"], row["problem"]["kind"]) == ("transport_error", "malformed_http")
    assert "chunks are malformed" in row["problem"]["message"]
