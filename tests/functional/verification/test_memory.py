"""Memory grows with what is kept of a case, not with the case."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.verification import KEY
from support.wire import BODY

pytestmark = pytest.mark.slow

STATUS = Path("/proc/self/status")
"""Tells the peak of this program; what ``getrusage`` tells begins with the peak of who started it."""

PROGRAM = f"""
import re, sys
from trialbed.cli import main
code = main(sys.argv[1:])
print("peak", re.search("VmHWM: *([0-9]+)", open("{STATUS}").read().replace(chr(9), " "))[1], file=sys.stderr)
sys.exit(code)
"""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)

FEW, MANY = 1_000, 6_000
PER_CASE = 2.0
"""KiB for which a case may be remembered; its request alone is 3, its row 5, and a busy machine adds some of both."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The same answer to every request on a connection; as cheap as can be."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert found is not None
        await reader.readexactly(int(found[1]))
        writer.write(ANSWER)


async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await answer(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def write_set(folder: Path, count: int) -> None:
    folder.mkdir()
    lines = (json.dumps({"messages": [{"role": "user", "content": f"{n} " + "x" * 3000}]}) for n in range(count))
    (folder / "set.jsonl").write_text("\n".join(lines))


async def peak(folder: Path, count: int, url: str) -> int:
    """The most memory in KiB that a verification of so many cases takes."""
    write_set(folder, count)
    arguments = ["verify", "set.jsonl", "--model", "m", "--base-url", url, "--api-key", KEY, "-j", "20", "--json"]
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["success_count"] == count
    return int(done.stderr.split("peak ")[1])


@pytest.mark.skipif(not STATUS.exists(), reason="nothing here tells the peak of a program's memory")
async def test_many_cases_take_little_more_memory_than_few(tmp_path: Path) -> None:
    server = await asyncio.start_server(quietly, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        few, many = [await peak(tmp_path / str(count), count, url) for count in (FEW, MANY)]
    finally:
        server.close()
    assert (many - few) / (MANY - FEW) < PER_CASE, f"{few} KiB for {FEW} cases, {many} KiB for {MANY}"
