"""A server that several processes of one test run use: the first one starts it, and it ends after the last one."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from filelock import AsyncFileLock

from trialbed.engine import START_TIMEOUT, ControlClient, ServerStart
from trialbed.errors import NothingMeasured, ServerUnavailable

POLL = 0.02
"""Seconds between two attempts to get the lock, and two looks for the address of a server."""

CAN_SHARE = hasattr(os, "mkfifo")
"""Whether processes of this system can hold a server together."""


@asynccontextmanager
async def shared_server(folder: Path, start: ServerStart) -> AsyncIterator[ControlClient]:
    """Yield a client of the server that processes share which name the same folder.

    Each process holds the writing end of a named pipe, which is the server's standard input: it ends with the last of
    them, however they end.

    Args:
        folder: which nobody else can read, since the token of the server is there.

    Raises:
        ServerUnavailable: it does not start; says why.
    """
    place = _Place(folder, hashlib.sha256(start.identity.encode()).hexdigest()[:16])
    with place.hold() as hold:
        async with AsyncFileLock(place.file("lock"), poll_interval=POLL, run_in_executor=False):
            if not (hold() and await _answers(place)):
                await _start(place, start, hold)
        found = json.loads(place.file("json").read_text(encoding="utf-8"))
        async with ControlClient(found["url"], found["token"]) as client:
            yield client


class _Place:
    """The files of one server in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def file(self, kind: str) -> Path:
        """Return the path of one of its files."""
        return self._folder / f"{self._name}.{kind}"

    @contextmanager
    def hold(self) -> Iterator[_Hold]:
        """Yield a hold on the server, and let it go."""
        hold = _Hold(self.file("pipe"))
        try:
            yield hold
        finally:
            hold.end()


class _Hold:
    """The writing end of a server's pipe."""

    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe
        self._end: int | None = None

    def __call__(self) -> bool:
        """Take hold of a server; false where none reads the pipe."""
        with suppress(OSError):  # there is no pipe, or nobody reads it
            self._end = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return self._end is not None

    def end(self) -> None:
        """Let it go."""
        if self._end is not None:
            os.close(self._end)
            self._end = None


async def _answers(place: _Place) -> bool:
    try:
        found = json.loads(place.file("json").read_text(encoding="utf-8"))
        async with ControlClient(found["url"], found["token"]) as client:
            await client.health()
    except (OSError, ValueError, KeyError, NothingMeasured):
        return False
    return True


async def _start(place: _Place, start: ServerStart, hold: _Hold) -> None:
    hold.end()
    for kind in ("pipe", "out", "json"):
        place.file(kind).unlink(missing_ok=True)
    os.mkfifo(place.file("pipe"), 0o600)
    reading = os.open(place.file("pipe"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.set_blocking(reading, True)
        hold()
        token = secrets.token_urlsafe(32)
        with place.file("out").open("wb") as out:
            process = _spawn(start.command, start.environment(token), reading, out.fileno())
    finally:
        os.close(reading)
    url = await _url(process, place)
    text = json.dumps({"url": url, "token": token})
    place.file("json").touch(mode=0o600)
    place.file("json").write_text(text, encoding="utf-8")
    process.returncode = 0  # others may use it longer than this process lives, which shall not wait for it


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], reading: int, writing: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=reading, stdout=writing, stderr=writing, env=dict(environment), start_new_session=True
    )


async def _url(process: subprocess.Popen[bytes], place: _Place) -> str:
    """Return the address that a server writes first."""
    loop = asyncio.get_running_loop()
    late = loop.time() + START_TIMEOUT
    while loop.time() < late:
        ended = process.poll() is not None
        text = place.file("out").read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines() if text.endswith("\n") else ():
            with suppress(ValueError, KeyError, TypeError):
                return str(json.loads(line)["url"])
        if ended:
            raise ServerUnavailable(f"the server did not start:\n{text.strip()[-8192:]}")
        await asyncio.sleep(POLL)
    process.kill()
    process.wait()
    raise ServerUnavailable(f"the server gave no address within {START_TIMEOUT:g} s")
