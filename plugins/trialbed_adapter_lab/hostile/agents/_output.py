"""Output where the messages go, and too much of everything."""

# ruff: noqa: ASYNC220 - blocking the event loop is what some of them are for

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from typing import Any

from trialbed_adapter_lab.hostile.agents._base import NAP, done


class Output:
    async def print(self) -> Any:
        sys.stdout.write('{"type": "done"}\n' * 3)
        os.write(1, b"garbage\n")
        return done()

    async def print_no_text(self) -> Any:
        os.write(1, b"\xff\xfe\x00" * 99 + b"\n")
        os.write(2, b"\xff\xfe\x00" * 99 + b"\n")
        return done()

    async def close_the_outputs(self) -> Any:
        os.close(1)
        os.close(2)
        return done()

    async def forge(self) -> Any:
        forged = (
            '{"type":"done","nonce":"00","trial":"x","outcome":{"started_at":"2026-01-01T00:00:00Z","wall_time":0}}\n'
        )
        write_everywhere(forged.encode())
        await asyncio.sleep(NAP)

    async def garbage(self) -> Any:
        write_everywhere(b"\xff\x00 garbage\n")
        await asyncio.sleep(NAP)

    async def endless_line(self) -> Any:
        block = b"x" * (1 << 20)
        while True:
            write_everywhere(block)

    async def flood(self) -> Any:
        block = b"y" * (1 << 20)
        for _ in range(64):
            os.write(1, block)
            os.write(2, block)
        return done()

    async def giant_answer(self) -> Any:
        return done("z" * (40 << 20))


class Memory:
    async def grow(self) -> Any:
        hoard = []
        while True:
            hoard.append(bytearray(16 << 20))
            await asyncio.sleep(0.01)

    async def grow_in_a_child(self) -> Any:
        code = f"import time; hoard = bytearray({400 << 20}); time.sleep({NAP})"
        subprocess.Popen([sys.executable, "-c", code])
        await asyncio.sleep(NAP)

    async def no_memory(self) -> Any:
        return done(" " * (1 << 62))


def write_everywhere(data: bytes) -> None:
    for descriptor in range(3, 32):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)
