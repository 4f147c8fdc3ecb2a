"""Output where the messages go, and too much of everything."""

# ruff: noqa: ASYNC220 - blocking the event loop is what some of them are for

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from hostile_base import NAP, done


class Output:
    async def print(self):
        sys.stdout.write('{"type": "done"}\n' * 3)
        os.write(1, b"garbage\n")
        return done()

    async def print_no_text(self):
        os.write(1, b"\xff\xfe\x00" * 99 + b"\n")
        os.write(2, b"\xff\xfe\x00" * 99 + b"\n")
        return done()

    async def close_the_outputs(self):
        os.close(1)
        os.close(2)
        return done()

    async def forge(self):
        forged = (
            '{"type":"done","nonce":"00","trial":"x","outcome":{"started_at":"2026-01-01T00:00:00Z","wall_time":0}}\n'
        )
        write_everywhere(forged.encode())
        await asyncio.sleep(NAP)

    async def garbage(self):
        write_everywhere(b"\xff\x00 garbage\n")
        await asyncio.sleep(NAP)

    async def endless_line(self):
        block = b"x" * (1 << 20)
        while True:
            write_everywhere(block)

    async def flood(self):
        block = b"y" * (1 << 20)
        for _ in range(64):
            os.write(1, block)
            os.write(2, block)
        return done()

    async def giant_answer(self):
        return done("z" * (40 << 20))

    async def late_garbage(self):
        threading.Thread(target=write_when_told, daemon=True).start()
        return done(str(os.getpid()))


class Memory:
    async def grow(self):
        hoard = []
        while True:
            hoard.append(bytearray(16 << 20))
            await asyncio.sleep(0.01)

    async def grow_in_a_child(self):
        code = f"import time; hoard = bytearray({400 << 20}); time.sleep({NAP})"
        subprocess.Popen([sys.executable, "-c", code])
        await asyncio.sleep(NAP)

    async def no_memory(self):
        return done(bytes(1 << 62))


def write_when_told():
    folder = Path(os.environ["HOSTILE_FOLDER"])
    while not (folder / "go").exists():
        time.sleep(0.01)
    write_everywhere(b"late\n")
    (folder / "gone").touch()


def write_everywhere(data):
    for descriptor in range(3, 32):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)
