"""A run's server in a thread of this process, with scripted models and tools."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal, Self, TypeVar

import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from trialbed.contracts import ModelQuestion, ModelReply
from trialbed.errors import UsageError
from trialbed.files import temporary_folder
from trialbed.records import Limits, TrialRegistration, UserTurn
from trialbed.wire.dialects import PATHS
from trialbed_adapter_lab.harness._records import Arrival, Observations, ObservedCall, ObservedRequest, read_log
from trialbed_adapter_lab.harness._tools import ScriptedTool
from trialbed_scripted import Line, ModelTurn, Response, Script
from trialbed_scripted.policies import FieldSpeaker, TurnTakingModel, as_demanded
from trialbed_server import ServerOptions, create_app
from trialbed_server.faults import VirtualAnswer, answer_body
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import CallTarget, TargetCatalog
from trialbed_server.trials import LogBudget, OpenTrial, TrialRefused
from trialbed_server.virtual.resolver import Callbacks, not_an_object

T = TypeVar("T")

Chunks = Literal["tokens", "calls", "whole"]
"""How an answer is streamed: in pieces of a few characters as OpenAI and vLLM do, a call in each chunk, or in one."""

PIECES: dict[Chunks, int | None] = {"calls": sys.maxsize, "whole": None}
"""Characters of a text or of arguments per chunk, if not the default; None for a single chunk."""

WHOLE = 2**40
"""Characters of one trial's bodies that its log keeps: all."""

KEEP_ALIVE = 600
"""Seconds that an idle connection stays open, as on a run's server."""

_arrival: ContextVar[Arrival] = ContextVar("arrival")
"""The request that is being served."""


class TrialSession(TurnTakingModel):
    """One trial on the server, with its script and the received requests.

    Its methods run on the server's loop.

    Attributes:
        opened: the trial on the server.
        strays: requests that are neither model requests nor calls, as ``METHOD path``.
        connections: the other ends of the connections to the model, open or closed.
    """

    def __init__(
        self,
        script: Sequence[Line],
        tools: Sequence[ScriptedTool],
        limits: Limits,
        *,
        model: str,
        finish_tool: str = "",
        chunks: Chunks = "tokens",
        turns: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.strays: list[str] = []
        self.connections: set[Any] = set()
        self.tools = [item.spec for item in tools]
        self.registration = TrialRegistration(
            trial=secrets.token_hex(8),
            model=model,
            model_name=model,
            tools=tuple(sorted(self.tools, key=lambda spec: spec.name)),
            called_back=tuple(item.spec.api for item in tools),
            finish_tool=finish_tool,
            limits=limits,
            turns=tuple(UserTurn(text=text) for text in turns),
        )
        self._script = Script(*script)
        self._speaker = FieldSpeaker()
        self._apis = {item.spec.api: item for item in tools}
        self._chunks = chunks
        self._made = 0
        self._asked: dict[int, Arrival] = {}
        self._called: dict[int, Arrival] = {}
        self.opened: OpenTrial

    def observations(self) -> Observations:
        """Return what was seen so far."""
        seen = read_log(self.opened.wire_log(), self.tools, self._asked, self._called)
        seen["strays"] = (*self.strays, *seen["strays"])
        return seen

    async def answer(self, question: ModelQuestion) -> ModelReply:
        """Return the next line of the script; calls use the tools' names in the request."""
        arrival = self._asked[question.place] = _arrival.get()
        arrival.asked = question.request
        call = self.opened.model_calls[question.place].record()
        seen = ObservedRequest.of_log(question.place, call, self.tools, arrival)

        async def take_turn() -> ModelTurn | Response:
            said = await self._script(seen)
            return said if isinstance(said, Response) else self._as_offered(said, seen)

        answer, arrival.said = await self._speaker.say(question.request, take_turn)
        if isinstance(answer, Response):
            if answer.bare or answer.ending != "complete":
                raise UsageError("a script of the harness answers or refuses; to break connections, use serve()")
            return ModelReply(
                body=answer.body,
                first=answer.wait,
                status=answer.status,
                content_type=answer.content_type,
                headers=answer.headers,
            )
        identity = answer.id or str(question.place)
        said = answer.answer(id=identity, fingerprint="fp_scripted", model=question.request.model)
        if self._chunks not in PIECES:
            return ModelReply(said)
        written = Response.answer(said, question.request, question.dialect, piece=PIECES[self._chunks])
        return ModelReply(body=written.body)

    def _as_offered(self, turn: ModelTurn, seen: ObservedRequest) -> ModelTurn:
        """Return a turn that uses the adapter's finish tool, if it has one and the turn ends as usual."""
        self.note(turn)
        finish = self.registration.finish_tool
        if finish and turn.finish_reason == "" and not turn.refusal:
            turn = as_demanded(turn, seen.request, self.tools, finish)
        calls = (
            replace(call, name=seen.offered_name(call.name), id=call.id or f"call_{seen.number}_{place}")
            for place, call in enumerate(turn.calls)
        )
        return replace(turn, calls=tuple(calls))

    async def call(self, target: CallTarget, tool_input: Any) -> VirtualAnswer:
        """Have a scripted tool answer a call."""
        # Nothing was waited for since the call was put into the log.
        self._called[len(self.opened.api_calls) - 1] = _arrival.get()
        if not isinstance(tool_input, dict):
            return not_an_object(target, tool_input)
        item, number = self._apis[target.ref], self._made
        self._made += 1
        now = self.opened.elapsed()
        reply = await item.behave(ObservedCall(number=number, tool=item.name, arguments=tool_input, started=now))
        if reply.status != 200:
            failed = f"the server returned status {reply.status}"
            return VirtualAnswer(b"the harness's Api is broken", status=reply.status, error=failed)
        return VirtualAnswer(answer_body(reply.error, reply.response))


class HarnessServer(Callbacks):
    """Serves trials like the server of a run, even while an adapter blocks its own thread or loop.

    It is an ASGI application around the server's, which records facts that the wire log lacks.

    Attributes:
        address: host and port.
        strays: requests that belong to no trial, as ``METHOD path``.
        dialects: the dialects of model requests, in order of arrival.
    """

    def __init__(self) -> None:
        super().__init__(allowed=False, max_answer=0)
        self.strays: list[str] = []
        self.dialects: list[str] = []
        self._sessions: dict[str, TrialSession] = {}
        self._state = ServerState()
        self._portal: BlockingPortal | None = None
        self._thread = 0
        self._catalog = TargetCatalog((), TemplateSimulator())

    def add(self, session: TrialSession) -> str:
        """Serve a trial; returns its URL."""
        token = session.registration.trial

        def add() -> None:
            self._sessions[token] = session
            session.opened = OpenTrial(session.registration, self._catalog, self._app.gateway.clock, model=session)
            session.opened.budget = LogBudget(body=WHOLE, trial=WHOLE)
            self._app.gateway.trials.open(session.opened)

        self.do(add)
        host, port = self.address
        return f"http://{host}:{port}/t/{token}"

    def clear(self) -> None:
        """End all trials, and drop connections with unanswered requests."""

        def end() -> None:
            for connection in self._connections():
                if connection.cycle is not None and not connection.cycle.response_complete:
                    connection.transport.abort()
            for token in self._sessions:
                with suppress(TrialRefused):
                    self._app.gateway.trials.close(token)
            self._sessions.clear()

        self.do(end)

    def open_connections(self, session: TrialSession) -> int:
        """Return how many connections to the model the adapter has not closed."""
        return self.do(lambda: sum(one.client in session.connections for one in self._connections()))

    def do(self, work: Callable[[], T]) -> T:
        """Return the result of some work in the thread that serves; in this one if it is the same, or has ended."""
        if self._portal is None or threading.get_ident() == self._thread:
            return work()
        return self._portal.call(work)

    async def call(self, trial: OpenTrial, target: CallTarget, tool_input: Any) -> VirtualAnswer:
        """Have a trial's tool answer a call."""
        return await self._sessions[trial.registration.trial].call(target, tool_input)

    def _connections(self) -> list[Any]:
        return list(self._state.connections)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and note how it goes on."""
        root, _, rest = scope["path"].removeprefix("/").partition("/")
        token, _, path = rest.partition("/")
        session = self._sessions.get(token) if root == "t" else None
        if session is None:
            self.strays.append(f"{scope['method']} {scope['path']}")
            await self._app(scope, receive, send)
            return
        posted = path if scope["method"] == "POST" else ""
        spoken = PATHS.get(posted.removeprefix("v1/")) if posted.startswith("v1/") else None
        if spoken is not None:
            session.connections.add(scope["client"])
            self.dialects += [spoken] if spoken not in self.dialects else []
        elif posted not in ("virtual", "user") and path != "mcp":
            session.strays.append(f"{scope['method']} /{path}")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        arrival = Arrival(headers=headers)
        _arrival.set(arrival)
        await _serve(self._app, scope, receive, send, arrival, ends=spoken is None)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder())
            options = ServerOptions(cache=str(folder / "responses.db"), control_token=secrets.token_hex(), port=0)
            self._app = create_app(options)
            self._app.virtual.callbacks = self
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self._serving()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._portal = None
        self._stack.close()

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        self._thread = threading.get_ident()
        quiet: dict[str, Any] = {"ws": "none", "lifespan": "off", "log_config": None, "server_header": False}
        config = uvicorn.Config(self, http=self._app.protocol, timeout_keep_alive=KEEP_ALIVE, **quiet)
        listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = listener.getsockname()
        async with self._app.routed.router.lifespan_context(self._app.routed):
            server = await asyncio.get_running_loop().create_server(
                lambda: self._app.protocol(config=config, server_state=self._state, app_state={}), sock=listener
            )
            try:
                yield
            finally:
                server.close()
                for connection in self._connections():
                    connection.transport.abort()
                await asyncio.gather(*self._state.tasks, return_exceptions=True)


async def _serve(app: ASGIApp, scope: Scope, receive: Receive, send: Send, arrival: Arrival, *, ends: bool) -> None:
    """Serve a request of a trial, and note its end.

    Args:
        ends: whether it is cancelled when its connection is closed; the gateway does that itself.
    """
    task = asyncio.current_task()
    watch: asyncio.Task[None] | None = None

    async def watch_end() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not arrival.ended:
            arrival.dropped = True
            if ends and task is not None:
                task.cancel()

    async def receive_part() -> Message:
        nonlocal watch
        message = await receive()
        if watch is None and not message.get("more_body", False):
            watch = asyncio.create_task(watch_end())
        return message

    async def send_part(message: Message) -> None:
        await send(message)
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        arrival.ended = arrival.ended or (is_last and not arrival.dropped)

    try:
        await app(scope, receive_part, send_part)
    except asyncio.CancelledError:
        if not arrival.dropped:
            raise
    finally:
        if watch is not None:
            watch.cancel()
