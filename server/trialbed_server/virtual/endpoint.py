"""The virtual API at ``POST /virtual`` and ``POST /t/{trial}/virtual``, and over MCP at ``POST /t/{trial}/mcp``."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import orjson
from pydantic import BaseModel, ValidationError
from starlette.types import Receive, Scope, Send

from trialbed.records import ApiCall, ToolSpec
from trialbed.texts import whole_body, whole_text
from trialbed.wire import json_decoder
from trialbed.wire.mcp import OfferedTools, load_sdk, serve_request
from trialbed.wire.redaction import Redaction
from trialbed_server._http import TrialEndpoint, read_already, send_json
from trialbed_server._metrics import Metrics
from trialbed_server._options import ServerOptions
from trialbed_server.faults import RETRY_AFTER, PutIn, VirtualAnswer, answer_body
from trialbed_server.standard_names import request_key
from trialbed_server.targets import CallTarget, TargetCatalog
from trialbed_server.trials import LogBudget, OpenTrial, TrialRegistry
from trialbed_server.virtual.resolver import Callbacks, Resolver, act, act_elsewhere, error_reply

TEXTS = ("category", "tool_name", "api_name", "strip", "toolbench_key")
"""The fields of a request that are texts."""

LONGEST_TOLD = 1000
"""Characters of an input that an error repeats, as FastAPI does."""

PARSE_ERROR = "Tool input parse error...\n"
"""StableToolBench's answer to an input that is not JSON."""


class VirtualRequest(NamedTuple):
    """A request, with the client's name of the Api, and the input in the form sent."""

    category: str
    tool_name: str
    api_name: str
    tool_input: str | dict[str, Any]


class MalformedRequest(Exception):
    """The body is not a request; ``detail`` gives the place, in FastAPI's form."""

    def __init__(self, detail: list[dict[str, Any]]) -> None:
        super().__init__(detail)
        self.detail = detail


class _Fields(BaseModel):
    category: str
    tool_name: str
    api_name: str
    tool_input: str | dict[str, Any]
    strip: str
    toolbench_key: str


def parse_request(body: bytes) -> VirtualRequest:
    """Read a body of StableToolBench's six fields.

    Raises:
        MalformedRequest: it is not JSON, or a field is missing or of another type.
    """
    data = parse_json(body)
    if not _is_plain(data):
        _explain(data)
    if b"\\u" in body:
        _check_characters(data)
    return VirtualRequest(data["category"], data["tool_name"], data["api_name"], data["tool_input"])


def parse_json(body: bytes) -> Any:
    """Read a body of JSON.

    Raises:
        MalformedRequest: it is not JSON, or Python cannot hold it.
    """
    try:
        return _decode_body(body)
    except (ValueError, RecursionError) as error:
        place = [error.pos] if isinstance(error, json.JSONDecodeError) else []
        problem = {"type": "json_invalid", "loc": ["body", *place], "msg": f"JSON decode error: {error}", "input": {}}
        raise MalformedRequest([problem]) from error


def parse_input(tool_input: str | dict[str, Any]) -> Any:
    """Return the input as a JSON value; the empty text is an empty object.

    Raises:
        ValueError, RecursionError: it is a text that is not JSON.
    """
    if not isinstance(tool_input, str):
        return tool_input
    return _decode(tool_input) if tool_input else {}


_decode = json_decoder().decode
_LONG_NUMBER = re.compile(rb"\d{19}").search


def _decode_body(body: bytes) -> Any:
    # The fast reader takes integers beyond 64 bits for floats, refuses some texts that are JSON, and says less about
    # those that are not.
    try:
        return orjson.loads(body) if _LONG_NUMBER(body) is None else _decode(body.decode())
    except orjson.JSONDecodeError:
        return _decode(body.decode())


def _is_plain(data: Any) -> bool:
    # The usual request, checked without the cost of a model.
    if type(data) is not dict or type(data.get("tool_input")) not in (str, dict):
        return False
    return all(type(data.get(name)) is str for name in TEXTS)


def _explain(data: Any) -> None:
    try:
        _Fields.model_validate(data)
    except ValidationError as error:
        found: Any = error.errors(include_url=False, include_context=False)
        if not isinstance(data, dict):
            found[0]["msg"] = "Input should be a valid dictionary"
        told = {} if len(str(data)) <= LONGEST_TOLD else {"input": None}
        raise MalformedRequest([{**one, **told, "loc": ["body", *one["loc"]]} for one in found]) from error


def _check_characters(data: dict[str, Any]) -> None:
    # An escape can name half a character, which no record can be written with.
    halves = [name for name in ("category", "tool_name", "api_name") if data[name] != whole_text(data[name])]
    if halves:
        message = "Input should be a valid string, this one holds half of a surrogate pair"
        kind = {"type": "string_unicode", "msg": message, "input": None}
        raise MalformedRequest([{**kind, "loc": ["body", name]} for name in halves])


CHAT = "chat_with_user"
"""The one api_name that StableToolBench answers itself."""

RETRY = ((b"retry-after", b"%d" % RETRY_AFTER),)

CHAT_REPLY = VirtualAnswer(answer_body("", "Chat with user."), "builtin")


@dataclass(eq=False)
class VirtualApi(TrialEndpoint):
    """Answer calls of Apis: find the trial and the target of a request, and send the resolver's answer.

    Attributes:
        catalog: the Apis known without a trial. faults: injected without a trial.
        callbacks: asks the program that opened a trial for the answers that it gives itself.
        redaction: masks the endpoint's key, should a model have made an agent repeat it.
    """

    resolver: Resolver
    catalog: TargetCatalog
    trials: TrialRegistry
    faults: PutIn | None
    metrics: Metrics
    callbacks: Callbacks
    redaction: Redaction
    options: ServerOptions

    async def serve(self, trial: OpenTrial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - of all endpoints
        """Answer a call, and record it."""
        try:
            answer = await self.answer(parse_request(body), trial, body)
        except MalformedRequest as error:
            answer = VirtualAnswer(json.dumps({"detail": error.detail}).encode(), status=422)
        if answer.status != 200:
            self.metrics.refused()
        await send_json(answer.body, answer.status, send, RETRY if answer.status == 429 else ())

    async def refuse(self, message: str, status: int, scope: Scope, send: Send) -> None:  # noqa: ARG002 - of all endpoints
        """Send an API error."""
        self.metrics.refused()
        await send_json(answer_body(message), status, send)

    def _without_secrets(self, request: VirtualRequest, sent: bytes) -> VirtualRequest:
        if not self.redaction or not self.redaction.finds(sent.decode("utf-8", "replace")):
            return request
        return VirtualRequest(*self.redaction.value(list(request)))

    async def answer(self, request: VirtualRequest, trial: OpenTrial | None, sent: bytes) -> VirtualAnswer:
        """Answer a call, and record it in its trial.

        Args:
            sent: the body that the request was read from.
        """
        catalog = self.catalog if trial is None else trial.catalog
        target, tool_input, key = self._read(self._without_secrets(request, sent), catalog)
        if trial is None:
            self.metrics.untagged.labels("virtual").inc()
            return await self._deliver(self.faults, target, tool_input, key, None)
        recording = ApiRecording(trial.elapsed, trial.budget, target, tool_input)
        trial.api_calls.append(recording)
        with trial.in_use():
            answer = await self._deliver(trial.faults, target, tool_input, key, trial)
        recording.end(answer)
        return answer

    async def _deliver(
        self, faults: PutIn | None, target: CallTarget, tool_input: Any, key: str | None, trial: OpenTrial | None
    ) -> VirtualAnswer:
        """Return the answer to a call, with the fault that its plan has for it, if there is one."""
        fault, canary = (None, "") if faults is None else faults.next_call(target.path)
        if faults is None or fault is None:
            return await self._reply(target, tool_input, key, trial)
        refused = await faults.refuse(fault)
        if refused is not None:
            return refused
        return await faults.change(fault, await self._reply(target, tool_input, key, trial), canary)

    def _read(self, request: VirtualRequest, catalog: TargetCatalog) -> tuple[CallTarget, Any, str | None]:
        """Return the target of a request, its input, and its key; None if the input is not JSON."""
        target = catalog.target(request.category, request.tool_name, request.api_name)
        try:
            tool_input = parse_input(request.tool_input)
            return target, tool_input, request_key(target.name, tool_input)
        except (ValueError, RecursionError):
            return target, request.tool_input, None

    async def _reply(
        self, target: CallTarget, tool_input: Any, key: str | None, trial: OpenTrial | None
    ) -> VirtualAnswer:
        if target.name.api == CHAT:
            return CHAT_REPLY
        if key is None:
            self.metrics.answered("")
            return error_reply(PARSE_ERROR)
        hosted, most = None, self.options.max_answer
        if trial is not None and trial.hosted:
            hosted = await act_elsewhere(trial.hosted, target, tool_input, most)
        if hosted is not None:
            reply = hosted
        elif trial is not None and target.ref in trial.called_back:
            reply = await self.callbacks.call(trial, target, tool_input)
        elif trial is not None and trial.world is not None and target.api is not None:
            reply = act(trial.world, target.api, target, tool_input, most)
        else:
            reply = await self.resolver.resolve(target, tool_input, key)
        self.metrics.answered(reply.provenance)
        if trial is not None and reply.failure is not None:
            trial.note_failure(reply.failure)
        return reply._replace(body=whole_body(reply.body))


@dataclass(eq=False)
class ApiRecording:
    """The record of one request; in flight until ``end``."""

    clock: Callable[[], float]
    budget: LogBudget
    target: CallTarget
    arguments: Any
    _ended: ApiCall | None = None

    def __post_init__(self) -> None:
        self._started = self.clock()

    def end(self, answer: VirtualAnswer) -> None:
        """Record what goes over the wire."""
        self._ended = self.record(answer)
        self.arguments = None

    def record(self, answer: VirtualAnswer | None = None) -> ApiCall:
        """Return the record so far; status 0 while unanswered."""
        if self._ended is not None:
            return self._ended
        duration, fields = self.clock() - self._started, dict[str, Any](status=0)
        if answer is not None:
            found = answer.document()
            fields = {
                "status": answer.status,
                "error": self.budget.keep(answer.error or found["error"]),
                "response": self.budget.keep_value(found["response"]),
                "provenance": answer.provenance,
                "fault": answer.fault,
            }
        return ApiCall(
            started=self._started,
            duration=duration,
            api=self.target.ref,
            offered=self.target.api is not None,
            arguments=self.budget.keep_value(self.arguments),
            **fields,
        )


NOT_JSON = -32700
INVALID_REQUEST = -32600
"""Codes of JSON-RPC."""


class McpEndpoint(TrialEndpoint):
    """Serves the tools of a trial over the Model Context Protocol, with the official SDK.

    A call is answered and recorded as one to ``/virtual``. Its arguments are not compared with the tool's schema, since
    no other way to call a tool does that.
    """

    def __init__(self, virtual: VirtualApi) -> None:
        self._virtual = virtual
        self.trials, self.options = virtual.trials, virtual.options
        self._loaded = False

    async def serve(self, trial: OpenTrial | None, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; its path names a trial."""
        trial = cast("OpenTrial", trial)
        try:
            body = _writable(body)
        except MalformedRequest as error:
            await self.refuse(error.detail[0]["msg"], 400, scope, send)
            return
        with trial.in_use():
            if not self._loaded:
                # In a thread, since other trials must not wait for it.
                await asyncio.to_thread(load_sdk)
                self._loaded = True
            tools = OfferedTools(trial.registration.tools, partial(self._call, trial, body))
            await serve_request(tools, scope, read_already(body, receive), send, max_body=self.options.max_body)

    async def refuse(self, message: str, status: int, scope: Scope, send: Send) -> None:  # noqa: ARG002 - of all endpoints
        """Send an error of JSON-RPC."""
        self._virtual.metrics.refused()
        code = NOT_JSON if status == 400 else INVALID_REQUEST
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
        await send_json(json.dumps(error).encode(), status, send)

    async def _call(self, trial: OpenTrial, sent: bytes, tool: ToolSpec, arguments: dict[str, Any]) -> tuple[str, bool]:
        api = tool.api
        request = VirtualRequest(api.category, api.tool_name, api.api_name, arguments)
        answer = (await self._virtual.answer(request, trial, sent)).document()
        from trialbed.tools import reply_text  # it imports a client, which no other request needs

        return whole_text(reply_text(answer)), bool(answer["error"])


def _writable(body: bytes) -> bytes:
    """Return a body of JSON without lone surrogates, which the SDK does not read.

    Raises:
        MalformedRequest: it is not JSON.
    """
    data = parse_json(body)
    return whole_text(json.dumps(data, ensure_ascii=False)).encode() if b"\\u" in body else body
