"""MCP servers: a program that is started here, or a URL."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trialbed.child_processes import end_process, stop_process
from trialbed.files import temporary_folder
from trialbed.wire.redaction import Redaction, shown_url
from trialbed_tools._rpc import ENDING_SECONDS, SECONDS, McpConnection, read_message
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import LARGEST, ToolsUnreachable
from trialbed_tools.located import Located
from trialbed_tools.secrets import expand, expand_url, needs_folder, put_folder

if TYPE_CHECKING:
    from trialbed_tools._urls import UrlChannel

GIVEN = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SHELL", "TERM", "SYSTEMROOT")
"""Variables that every server has; others, which may be keys, only where the file names them."""

FIRST_SECONDS = 180.0
"""For the first message, before which a package may have to be downloaded."""

LOOK_SECONDS = 0.5
"""Between two looks at the memory of a program."""

TAIL = 2_000
"""Characters of its standard error that a message has."""

IMPORT_SECONDS = 30.0
"""For the list of a server's tools, before which somebody waits."""


class ProgramChannel:
    """A program that speaks MCP over its standard input and output, in a process group of its own.

    Args:
        memory: bytes that it and its children may use.
        redaction: masks its keys in its output.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, memory: int, redaction: Redaction, resources: ExitStack
    ) -> None:
        from trialbed_tools._family import Family

        self._process = process
        self._family = Family(process.pid)
        self._loop = asyncio.get_running_loop()
        self._resources = resources
        self._memory = memory
        self._redaction = redaction
        self._seconds = FIRST_SECONDS
        self._problem = ""
        self._errors: deque[str] = deque(maxlen=20)
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._watch())]

    @classmethod
    async def start(
        cls, command: str, folder: Path, environment: Mapping[str, str], memory: int, redaction: Redaction
    ) -> ProgramChannel:
        """Start a program.

        Args:
            command, environment: as the file has them.

        Raises:
            ToolsUnreachable: it cannot be started.
            UsageError: a variable that it needs is not set.
        """
        resources = ExitStack()
        own = resources.enter_context(temporary_folder()) if needs_folder((command, *environment.values())) else None
        given = {name: os.environ[name] for name in GIVEN if name in os.environ}
        try:
            words = [put_folder(word, own) for word in shlex.split(command)]
            if not words:
                raise ValueError("it names no program")
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                env={**given, **expand(environment, "mcp.environment", own)},
                limit=LARGEST,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            resources.close()
            raise ToolsUnreachable(f"{command}: cannot be started: {error}") from error
        except BaseException:
            resources.close()
            raise
        return cls(process, memory, redaction, resources)

    async def send(self, message: dict[str, Any]) -> None:
        """Write a line."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - asked for above
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            async with asyncio.timeout(SECONDS):
                await stdin.drain()
        except (OSError, TimeoutError) as error:
            raise self._end_error() from error

    async def receive(self) -> dict[str, Any]:
        """Read lines up to the next message; others are not the protocol's."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - asked for above
        seconds, self._seconds = self._seconds, SECONDS
        try:
            async with asyncio.timeout(seconds):
                while line := await stdout.readline():
                    message = read_message(line)
                    if isinstance(message, dict):
                        return message
        except TimeoutError:
            raise ToolsUnreachable(f"the server sends nothing for {seconds:g} s{self._tail()}") from None
        except ValueError as error:
            raise ToolsUnreachable(f"the server sends a line of more than {LARGEST:,} bytes") from error
        raise self._end_error()

    async def close(self) -> None:
        """End the program and its children, also where this is cancelled."""
        if self._loop is not asyncio.get_running_loop():
            # Its loop was given up, so that nothing can be awaited; should it go on, it lets go of the pipes.
            with self._resources:
                self._family.kill()
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._let_go)
            return
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.to_thread(self._family.look)
            await stop_process(self._process, ENDING_SECONDS)
        finally:
            with self._resources:
                self._family.kill()
                await end_process(self._process)

    def _let_go(self) -> None:
        self._tasks.append(asyncio.create_task(end_process(self._process)))

    async def _listen(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (piece := await stderr.read(4096)):
            self._errors.append(piece.decode(errors="replace"))

    async def _watch(self) -> None:
        while self._process.returncode is None:
            if await asyncio.to_thread(self._family.look) > self._memory:
                self._problem = f"it used more than {self._memory // 2**20} MiB"
                self._family.kill()
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _end_error(self) -> ToolsUnreachable:
        return ToolsUnreachable(f"the server has ended{f': {self._problem}' if self._problem else self._tail()}")

    def _tail(self) -> str:
        text = self._redaction.text("".join(self._errors))[-TAIL:].strip()
        return f"; it wrote: {text}" if text else ""


def server_connection(
    form: ServerForm, folder: Path, headers: Mapping[str, str], redaction: Redaction
) -> McpConnection:
    """Return a connection to a server, which is started with the first request."""
    if form.command is None:
        url = expand_url(str(form.url), "mcp.url")
        return McpConnection(partial(_open_url, url, headers))
    memory = form.memory * 2**20
    return McpConnection(partial(ProgramChannel.start, form.command, folder, form.environment, memory, redaction))


def list_server(form: ServerForm, folder: Path, headers: Mapping[str, str], redaction: Redaction) -> Located:
    """Return the tools of a server as it lists them.

    Raises:
        ToolsUnreachable: it gives no list.
        UsageError: a variable that it needs is not set.
    """

    async def ask() -> list[dict[str, Any]]:
        connection = server_connection(form, folder, headers, redaction)
        try:
            async with asyncio.timeout(IMPORT_SECONDS):
                return await connection.list_tools()
        except TimeoutError:
            hint = "if it first downloads a package, start it once by hand"
            raise ToolsUnreachable(f"the server lists no tools within {IMPORT_SECONDS:g} s; {hint}") from None
        finally:
            await connection.close()

    name = redaction.text(form.command or shown_url(str(form.url)))
    try:
        return Located(name, {"tools": redaction.value(asyncio.run(ask()))})
    except ToolsUnreachable as error:
        raise ToolsUnreachable(f"{name}: {redaction.text(str(error))}") from None


async def _open_url(url: str, headers: Mapping[str, str]) -> UrlChannel:
    from trialbed_tools._urls import UrlChannel

    return UrlChannel(url, headers)
