"""Connections to MCP servers: programs, which are ended with their children, and URLs."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_PARAMS, jsonrpc_message_adapter
from pydantic import ValidationError

from trialbed.child_processes import end_process
from trialbed.files import temporary_folder
from trialbed.wire import finite_float, parse_json
from trialbed.worker import SUPERVISED, supervised_command
from trialbed_tools.forms import ServerForm
from trialbed_tools.http import PLAIN, PlainBody, TooLarge, UnusableBody
from trialbed_tools.live import LARGEST_MESSAGE, NOT_A_MESSAGE, TOO_LARGE, ToolsUnreachable
from trialbed_tools.secrets import expand, needs_folder, put_folder

GIVEN = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SHELL", "TERM", "SYSTEMROOT")
"""Variables for every server. Others may be keys, so the file has to name them."""

MOST_LINES = 10_000
"""Most lines that a program writes before its answer."""

MOST_PIECES = 8
"""Most pieces, of ``LARGEST_MESSAGE`` bytes, of a skipped line."""

ENDING_SECONDS = 2.0
"""Time for a program to exit before it is killed."""

LOOK_SECONDS = 0.5
"""Time between two checks of a program's memory."""


@asynccontextmanager
async def open_program(
    form: ServerForm, folder: Path, resources: ExitStack, errors: deque[str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a program. On exit, end it with all processes that it started.

    Raises:
        ToolsUnreachable: it cannot be started, has exited, or breaks the protocol.
        UsageError: a variable that it needs is not set.
    """
    command = str(form.command)
    own = resources.enter_context(temporary_folder()) if needs_folder((command, *form.environment.values())) else None
    given = {name: os.environ[name] for name in GIVEN if name in os.environ}
    # A socket can signal the end of input before it is closed. On close, the supervisor ends everything.
    there, here = socket.socketpair()
    resources.callback(here.close)
    with there:
        try:
            words = [put_folder(word, own) for word in shlex.split(command)]
            if not words:
                raise ValueError("it names no program")
            process = await asyncio.create_subprocess_exec(
                *supervised_command(words),
                stdin=there.fileno(),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                env=given | expand(form.environment, "mcp.environment", own),
                limit=LARGEST_MESSAGE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolsUnreachable(f"{command}: cannot be started: {error}") from error
    resources.callback(_end_now, here, process.pid)
    program = _Program(process, here, form.memory * 2**20)
    received, receiving = anyio.create_memory_object_stream[Any](0)
    sending, sent = anyio.create_memory_object_stream[Any](0)
    async with received, receiving, sending, sent, anyio.create_task_group() as group:
        _, stdin = await asyncio.open_connection(sock=here)
        group.start_soon(program.read, received)
        group.start_soon(program.write, sent, stdin)
        group.start_soon(program.watch)
        group.start_soon(program.listen, errors)
        try:
            yield receiving, sending
        finally:
            problem = program.problem  # only problems from before it is ended
            ending = asyncio.create_task(program.end(stdin))
            while not ending.done():  # even if this is cancelled again, end everything
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((ending,))
            group.cancel_scope.cancel()
            if problem:
                raise ToolsUnreachable(problem)


def _end_now(stdin: socket.socket, pid: int) -> None:
    """Kill a program. This works from any thread."""
    with suppress(OSError):
        stdin.shutdown(socket.SHUT_RDWR)
    if not SUPERVISED:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


class _Program:
    def __init__(self, process: asyncio.subprocess.Process, stdin: socket.socket, memory: int) -> None:
        self.problem = ""
        self._process = process
        self._stdin = stdin
        self._memory = memory
        self._left = MOST_LINES
        self._asked: Any = 0

    async def read(self, received: Any) -> None:
        """Pass messages on and ignore other lines."""
        stdout: Any = self._process.stdout
        async with received:
            try:
                while line := await self._line(stdout):
                    self._left -= 1
                    if self._left < 0:
                        raise ToolsUnreachable(f"the server sends {MOST_LINES:,} lines and no answer")
                    if b'"jsonrpc"' in line:
                        await received.send(await asyncio.to_thread(_message, line))
                self.problem = self.problem or "the server has ended"
            except ToolsUnreachable as error:
                self.problem = str(error)
            except anyio.BrokenResourceError:
                """The session is over."""

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        """Return the next line. An overlong line becomes an error response to the pending request."""
        problem = f"{TOO_LARGE} {LARGEST_MESSAGE:,} bytes"
        is_long = False
        for _ in range(MOST_PIECES):
            try:
                line = await stdout.readuntil()
            except asyncio.IncompleteReadError as error:
                return error.partial
            except asyncio.LimitOverrunError as error:
                await stdout.readexactly(error.consumed)
                is_long = True
                continue
            refused = {"jsonrpc": "2.0", "id": self._asked, "error": {"code": INVALID_PARAMS, "message": problem}}
            return json.dumps(refused).encode() if is_long else line
        raise ToolsUnreachable(problem)

    async def write(self, sent: Any, stdin: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            async for one in sent:
                self._left = MOST_LINES
                message = one.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                if "method" in message:
                    self._asked = message.get("id", self._asked)
                stdin.write(json.dumps(message).encode() + b"\n")
                await stdin.drain()

    async def watch(self) -> None:
        """End the program if it and its children use too much memory."""
        with suppress(psutil.Error):
            first = psutil.Process(self._process.pid)
            while True:
                if await asyncio.to_thread(_used, first) > self._memory:
                    self.problem = f"the server has ended: it used more than {self._memory // 2**20} MiB"
                    return _end_now(self._stdin, self._process.pid)
                await asyncio.sleep(LOOK_SECONDS)

    async def listen(self, errors: deque[str]) -> None:
        stderr: Any = self._process.stderr
        while piece := await stderr.read(4096):
            errors.append(piece.decode(errors="replace"))

    async def end(self, stdin: asyncio.StreamWriter) -> None:
        """Let the program exit, then end it with all processes that it started."""
        with suppress(OSError):
            stdin.write_eof()
        await self._wait(ENDING_SECONDS)
        _end_now(self._stdin, self._process.pid)
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)  # the program may have stopped its supervisor
        await self._wait(ENDING_SECONDS / 2)
        await end_process(self._process)
        stdin.transport.abort()

    async def _wait(self, seconds: float) -> None:
        # ``Process.wait`` would also wait for the program's pipes, which may be open or full.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._process.returncode is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)


def _message(line: bytes) -> SessionMessage:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(parse_json(line, finite_float), by_name=False))
    except ValidationError:
        raise ToolsUnreachable(NOT_A_MESSAGE) from None
    except ValueError as error:
        raise ToolsUnreachable(f"{NOT_A_MESSAGE}: {error}") from error


def _used(first: psutil.Process) -> int:
    used = 0
    for one in [*first.children(recursive=True), *([] if SUPERVISED else [first])]:
        with suppress(psutil.Error):
            used += one.memory_info().rss
    return used


SECONDS = 120.0
"""Timeout for the next bytes of an answer."""

# It logs tracebacks of errors raised here, which contain the server's texts.
logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)


@asynccontextmanager
async def open_url(
    url: str, headers: Mapping[str, str], _resources: ExitStack, _errors: deque[str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server. Redirects are only followed within its origin.

    Raises:
        ToolsUnreachable: it rejects a message, or its answer cannot be read.
    """
    problems: list[str] = []

    async def check(response: httpx2.Response) -> None:
        try:
            response.stream = _Bounded(response, problems)
            session = response.headers.get("mcp-session-id", "")
            if not (session.isascii() and session.isprintable()):
                raise UnusableBody("the id of the server's session is not in ASCII")
            # The stream and the end of a session, which use other methods, are optional for a server.
            if response.request.method == "POST" and response.is_error:
                text = (await response.aread())[:200].decode(errors="replace")
                raise UnusableBody(f"status {response.status_code}: {text}")
        except UnusableBody as error:
            problems.append(str(error))
            raise

    client = httpx2.AsyncClient(headers={**headers, **PLAIN}, timeout=SECONDS, event_hooks={"response": [check]})
    try:
        async with client, streamable_http_client(url, http_client=client, max_sse_event_size=None) as streams:
            yield streams
    finally:
        if problems:
            raise ToolsUnreachable(problems[0])


class _LongAnswer(httpx2.SSEError, httpx2.StreamError):
    """An answer is too large. The SDK answers this request with the error's text and keeps the session."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, response: httpx2.Response, problems: list[str]) -> None:
        self._body = PlainBody(response.headers, LARGEST_MESSAGE)
        self._stream: Any = response.stream
        self._problems = problems

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                self._body.add(piece)
                yield piece
        except TooLarge as error:
            raise _LongAnswer(str(error)) from error
        except UnusableBody as error:
            self._problems.append(str(error))
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()
