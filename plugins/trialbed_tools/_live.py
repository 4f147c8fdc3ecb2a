"""Tools whose calls are answered for real, or as they were."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from trialbed.contracts import ApiRefused
from trialbed.errors import TrialbedError
from trialbed_tools._kept import Call, CallAnswer, KeptAnswers, UnkeptAnswer

Way = Callable[[Callable[[], Any]], Awaitable[Any]]

LARGEST = 4 * 2**20
"""Bytes of one answer."""


class ToolsUnreachable(TrialbedError):
    """A live tool gives no answer, which says nothing of the agent."""


class ApiConnection(Protocol):
    """The way to live tools."""

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        """Make a call.

        Raises:
            ToolsUnreachable: there is no answer.
        """

    async def close(self) -> None:
        """Close it; a server that was started for it ends."""


class LiveTools:
    """The tools of a file whose calls pass through once, and are answered as before from then on.

    Args:
        connect: makes a connection; None where nothing but kept answers is given.
        has_state: whether calls change the answers to later ones: each trial then has a connection of its own.
        readers: names of tools that change nothing.
        identity: a text that is another where the tools are other ones.
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
        """Return a connection: a new one, or the one of all trials where calls change nothing.

        Raises:
            ApiRefused: nothing but kept answers is given.
        """
        if self._connect is None:
            raise ApiRefused("no answer to this call is recorded")
        if self.has_state:
            return self._connect()
        if self._loop is not asyncio.get_running_loop():
            # The loop of the last one was given up, as a tool in Python held it: nothing comes through it any more.
            await self.close()
        if self._shared is None:
            self._shared, self._loop = self._connect(), asyncio.get_running_loop()
        return self._shared

    async def close(self) -> None:
        """Close the connection of all trials."""
        shared, self._shared = self._shared, None
        if shared is not None:
            with _outlive(self._loop):
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
            ApiRefused: the tool refuses it, or no answer is kept and none can be got.
            ToolsUnreachable: there is no answer.
        """
        if not self._tools.has_state:
            return _unpack(await self._answer((name, arguments)))
        async with self._turn:
            if self._is_broken or (self._connection and self._loop is not asyncio.get_running_loop()):
                raise ToolsUnreachable("an earlier call got no answer, so that the state of the tools is not known")
            try:
                answer = await self._answer((name, arguments))
            except ApiRefused:
                raise
            except BaseException:
                # The server may have done what it did not answer, and a new one would be in another state.
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
        # Calls that were answered from the file did not reach the server, which has to be in the same state.
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
            # Servers repeat keys, and so do exceptions of which it was made: their tracebacks are shown too.
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
            with _outlive(self._loop):
                await connection.close()


@contextmanager
def _outlive(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Close what belongs to a loop, which is over in another one: what it held went with it."""
    try:
        yield
    except RuntimeError:
        if loop is asyncio.get_running_loop():
            raise


def _unpack(answer: CallAnswer) -> Any:
    if answer.error:
        raise ApiRefused(answer.error)
    return answer.response


class LiveBody:
    """The answers to the calls of one live tool; see ``trialbed.tasks.ApiBody``."""

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
        """Return a text that distinguishes versions of the tool."""
        return f"{self._name} {self.owner.identity}"

    async def end_trial(self, owner: TrialCalls) -> None:
        """End the server of a trial."""
        await owner.close()

    async def end_run(self) -> None:
        """End the server of all trials."""
        await self.owner.close()

    def make_owner(self, state: Any) -> TrialCalls:  # noqa: ARG002 - as functions have it
        """Return the calls of a trial, which reach no server before the first one."""
        return TrialCalls(self.owner)

    async def call(self, arguments: Mapping[str, Any], owner: TrialCalls, blocking: Way, waiting: Way) -> Any:  # noqa: ARG002 - as functions have it
        """Return the response to a call.

        Raises:
            ApiRefused: the tool refuses it.
            ToolsUnreachable: there is no answer.
        """
        return await waiting(lambda: owner.call(self._name, dict(arguments)))
