"""Call tools for real and store their answers in a file next to the tools, or replay stored answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from trialbed.contracts import ApiRefused
from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed.files import read_lines
from trialbed.settings import secret_values
from trialbed.texts import whole_texts
from trialbed.wire.redaction import Redaction, redaction_of
from trialbed_tools.located import name_place, read_json_line

Call = tuple[str, dict[str, Any]]

KEYS = ("tool", "arguments", "after", "response", "error")
"""The keys of a stored answer."""

ENDING = ".answers.jsonl"


class CallAnswer(NamedTuple):
    """The response to a call, or an error if the tool refused it."""

    response: Any = ""
    error: str = ""


class UnkeptAnswer(Exception):
    """A call or answer that cannot be stored."""


def answers_path(tools: Path) -> Path:
    """Return the file for the answers of a file of tools."""
    return tools.with_name(tools.stem + ENDING)


class KeptAnswers:
    """The answers in a file, which is read at first use. New answers are written immediately.

    Other programs may write to the file at the same time.

    Args:
        redaction: masks secrets in calls and answers.
    """

    def __init__(self, path: Path, redaction: Redaction) -> None:
        self.path = path
        self.redaction = redaction
        self._found: dict[str, CallAnswer] = {}
        self._is_read = False
        self._lines = self._bytes = 0
        self._writing = threading.Lock()

    def find(self, call: Call, after: Sequence[Call]) -> CallAnswer | None:
        """Return the stored answer to a call that follows the given calls of its trial, if there is one.

        Raises:
            DataError: the file is malformed; the message names the line.
            UnkeptAnswer: the call cannot be stored.
        """
        name, arguments = self._mask(call)
        _line({"arguments": arguments})
        return self._answers().get(_key(name, arguments, _digest(after)))

    def add(self, call: Call, after: Sequence[Call], answer: CallAnswer) -> CallAnswer:
        """Store an answer and return its stored form. The first answer to a call stays.

        Raises:
            DataError: the file is malformed; the message names the line.
            UnkeptAnswer: the answer cannot be stored.
            UsageError: the file cannot be written.
        """
        name, arguments = self._mask(call)
        try:
            answer = CallAnswer(*whole_texts(self.redaction.value(list(answer))))
        except RecursionError:
            raise UnkeptAnswer("it is nested too deeply") from None
        fields: dict[str, Any] = {"arguments": arguments}
        if after:
            fields["after"] = _digest(after)
        fields |= {"error": answer.error} if answer.error else {"response": answer.response}
        line = _line({"tool": name} | fields)
        if len(line) > LARGEST and not answer.error:
            return self.add(call, after, CallAnswer(error=f"{TOO_LARGE} {LARGEST:,} bytes"))
        # A line with a key would make the file unreadable. Numbers are not masked; the tool's name belongs to the call.
        if self.redaction.finds(_line(fields).decode()) or _keys().finds(line.decode()):
            raise UnkeptAnswer("it, or its call, has a key from this program's environment")
        with self._writing:
            key = _key(name, arguments, _digest(after))
            try:
                with self.path.open("a+b") as file:
                    _lock(file, shared=False)
                    self._read(file)
                    if key not in self._found:
                        written = _append(file, line)
                        self._take(line, str(self.path))
                        self._lines, self._bytes = self._lines + written.count(b"\n"), self._bytes + len(written)
            except OSError as error:
                raise UsageError(f"{self.path}: the answer cannot be kept: {error}") from error
        return self._found[key]

    def digest(self) -> str:
        """Return a digest of all answers."""
        found = {key: list(answer) for key, answer in self._answers().items()}
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()

    def _mask(self, call: Call) -> Call:
        name, arguments = call
        try:
            return name, whole_texts(self.redaction.value(arguments))
        except RecursionError:
            raise UnkeptAnswer("it is nested too deeply") from None

    def _answers(self) -> dict[str, CallAnswer]:
        with self._writing:
            if not self._is_read and self.path.is_file():
                try:
                    with self.path.open("rb") as file:
                        _lock(file, shared=True)
                        self._read(file)
                except OSError as error:
                    raise DataError(f"{self.path}: cannot be read: {error.strerror or error}") from error
            self._is_read = True
        return self._found

    def _read(self, file: BinaryIO) -> None:
        if os.fstat(file.fileno()).st_size < self._bytes:  # it was replaced
            self._lines = self._bytes = 0
        file.seek(self._bytes)
        for line in read_lines(file):
            place = f"{self.path}:{self._lines + 1}"
            if line.strip():
                self._take(line, place)
            self._lines += line.endswith(b"\n")
            self._bytes += len(line)

    def _take(self, line: bytes, place: str) -> None:
        text = line.decode("utf-8-sig", "surrogateescape")
        value = read_json_line(text, place)
        error, arguments, after = value.get("error", ""), value.get("arguments"), value.get("after", "")
        with name_place(place):
            if not isinstance(value.get("tool"), str) or not isinstance(arguments, dict) or not isinstance(error, str):
                raise DataError("an answer has a tool, its arguments, and a response or an error")
            if unknown := sorted(value.keys() - KEYS):
                raise DataError(f"unknown key {unknown[0]!r:.60}; an answer has {', '.join(KEYS)}")
            if ("response" in value) == bool(error) or not isinstance(after, str):
                raise DataError("an answer has a response or an error, and its key after, if any, is text")
            # Check for keys alone: any text may be the value of another variable on another machine.
            if _keys().finds(text):
                raise DataError("the file has a key from this program's environment; remove the line")
            key = _key(value["tool"], arguments, after)
        self._found.setdefault(key, CallAnswer(value.get("response", ""), error))


def _keys() -> Redaction:
    return redaction_of(secret_values())


def _line(fields: dict[str, Any]) -> bytes:
    """Return a line for the file that can be read back.

    Raises:
        UnkeptAnswer: it could not be read back.
    """
    try:
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"
        line = text.encode()
        read_json_line(text, "")
    except (ValueError, RecursionError, DataError):
        raise UnkeptAnswer("it has a number or a depth that JSON cannot hold") from None
    return line


def _append(file: BinaryIO, line: bytes) -> bytes:
    """Append a whole line or nothing. Returns the written bytes, which first complete an unterminated last line."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        line = line if file.read(1) == b"\n" else b"\n" + line
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(file.fileno(), rest) :]
    except OSError:
        with suppress(OSError):
            os.truncate(file.fileno(), size)
        raise
    return line


def _lock(file: BinaryIO, *, shared: bool) -> None:
    """Lock the file until it is closed. A shared lock still lets other programs read."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    with suppress(OSError):  # some file systems have no locks
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def _key(name: str, arguments: dict[str, Any], after: str) -> str:
    return json.dumps([name, arguments, after], sort_keys=True)


def _digest(calls: Sequence[Call]) -> str:
    """Return a short text for the preceding calls; empty without calls."""
    text = json.dumps(list(calls), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if calls else ""


Way = Callable[[Callable[[], Any]], Awaitable[Any]]

LARGEST = 4 * 2**20
"""Largest answer, in bytes."""

LARGEST_MESSAGE = 16 * 2**20
"""Largest message of an MCP server, in bytes. Its images and files are not part of the answer."""

TOO_LARGE = "the answer is larger than"

NOT_A_MESSAGE = "the server sends a message that is not valid JSON, or not one of MCP"


class ToolsUnreachable(TrialbedError):
    """A live tool gives no answer, so the agent cannot be measured."""


class ApiConnection(Protocol):
    """A connection to live tools."""

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        """Make a call.

        Raises:
            ToolsUnreachable: there is no answer.
        """

    async def close(self) -> None:
        """Close the connection, from any event loop. A server that was started for it ends."""


class LiveTools:
    """The tools of a file. The first call is live, and later identical calls get the stored answer.

    Args:
        connect: makes a connection; None to use stored answers only.
        has_state: whether calls change later answers. Each trial then has its own connection.
        readers: names of tools that change nothing.
        identity: a text that differs for different tools.
    """

    def __init__(
        self,
        kept: KeptAnswers,
        connect: Callable[[], ApiConnection] | None,
        identity: str,
        *,
        has_state: bool,
        readers: frozenset[str] = frozenset(),
    ) -> None:
        self.kept = kept
        self.has_state = has_state
        self.readers = readers
        self.identity = identity if connect else f"{identity} {kept.digest()}"
        self.provenance = "live" if connect else "recorded"
        self._connect = connect
        self._shared: ApiConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def connection(self) -> ApiConnection:
        """Return a new connection, or the shared one if calls change nothing.

        Raises:
            ApiRefused: there are only stored answers.
        """
        if self._connect is None:
            raise ApiRefused("no answer to this call is recorded")
        if self.has_state:
            return self._connect()
        if self._loop is not asyncio.get_running_loop():
            # The previous event loop was abandoned because a Python tool blocked it, so its connection is dead.
            await self.close()
        if self._shared is None:
            self._shared, self._loop = self._connect(), asyncio.get_running_loop()
        return self._shared

    async def close(self) -> None:
        """Close the shared connection."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()


class TrialCalls:
    """The calls of one trial to the tools of a file."""

    def __init__(self, tools: LiveTools) -> None:
        self._tools = tools
        self._before: list[Call] = []
        self._connection: ApiConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reached = 0
        self._is_broken = False
        self._turn = asyncio.Lock()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the response to a call.

        Raises:
            ApiRefused: the tool refuses the call, or no answer is stored and there is no connection.
            ToolsUnreachable: there is no answer.
        """
        if not self._tools.has_state:
            return _unpack(await self._answer((name, arguments)))
        async with self._turn:
            if self._is_broken or (self._connection and self._loop is not asyncio.get_running_loop()):
                raise ToolsUnreachable("an earlier call got no answer, so the state of the tools is unknown")
            try:
                answer = await self._answer((name, arguments))
            except ApiRefused:
                raise
            except BaseException:
                # The server may have executed the call without answering. A new server would be in another state.
                self._is_broken = True
                raise
            if name not in self._tools.readers:
                self._before.append((name, arguments))
            return _unpack(answer)

    async def _answer(self, call: Call) -> CallAnswer:
        try:
            found = self._tools.kept.find(call, self._before)
        except UnkeptAnswer as error:
            raise ApiRefused(f"the call cannot be made: {error}") from error
        if found is not None:
            return found
        if not self._tools.has_state:
            return self._keep(call, await self._reach(await self._tools.connection(), call))
        if self._connection is None:
            self._connection, self._loop = await self._tools.connection(), asyncio.get_running_loop()
        # Calls answered from the file did not reach the server. Repeat them to bring it into the same state.
        for earlier in self._before[self._reached :]:
            await self._reach(self._connection, earlier)
            self._reached += 1
        answer = self._keep(call, await self._reach(self._connection, call))
        self._reached += call[0] not in self._tools.readers
        return answer

    async def _reach(self, connection: ApiConnection, call: Call) -> CallAnswer:
        try:
            return await connection.call(*call)
        except ToolsUnreachable as error:
            # Servers echo keys, and so do the original exceptions, whose tracebacks would be shown too.
            raise ToolsUnreachable(self._tools.kept.redaction.text(str(error))) from None

    def _keep(self, call: Call, answer: CallAnswer) -> CallAnswer:
        try:
            return self._tools.kept.add(call, self._before, answer)
        except UnkeptAnswer as error:
            raise ToolsUnreachable(f"the answer cannot be kept: {error}") from error

    async def close(self) -> None:
        """Close the connection, if it is the trial's own."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _unpack(answer: CallAnswer) -> Any:
    if answer.error:
        raise ApiRefused(answer.error)
    return answer.response


class LiveBody:
    """The answers to the calls of one live tool; see ``trialbed.tasks.ApiBody``."""

    checked = True

    def __init__(self, tools: LiveTools, name: str) -> None:
        self.owner = tools
        self.provenance = tools.provenance
        self.has_to_end = True
        self._name = name

    @property
    def code(self) -> Any:
        """The tools of the file."""
        return self.owner

    def source(self) -> str:
        """Return a text that identifies the version of the tool."""
        return f"{self._name} {self.owner.identity}"

    async def end_trial(self, owner: TrialCalls) -> None:
        """End the server of a trial."""
        await owner.close()

    async def end_run(self) -> None:
        """End the server of all trials."""
        await self.owner.close()

    def make_owner(self, state: Any) -> TrialCalls:  # noqa: ARG002 - other bodies use it
        """Return the calls of a trial. The first call opens the connection."""
        return TrialCalls(self.owner)

    async def call(self, arguments: Mapping[str, Any], owner: TrialCalls, run: Way) -> Any:
        """Return the response to a call.

        Raises:
            ApiRefused: the tool refuses it.
            ToolsUnreachable: there is no answer.
        """
        return await run(partial(owner.call, self._name, dict(arguments)))
