"""``POST /virtual`` and ``POST /t/{trial}/virtual``."""

from __future__ import annotations

import json
from typing import Any

from starlette.types import Receive, Scope, Send

from trialbed.records import ApiCall
from trialbed_server._http import BodyTooLarge, ClientGone, read_body, send_json
from trialbed_server._metrics import Metrics
from trialbed_server.trials import Trial, TrialRefused, TrialRegistry
from trialbed_server.virtual.catalog import Catalog, Target
from trialbed_server.virtual.keys import request_key
from trialbed_server.virtual.requests import (
    PARSE_ERROR,
    InputError,
    MalformedRequest,
    VirtualRequest,
    parse_input,
    parse_request,
)
from trialbed_server.virtual.resolver import Reply, Resolver, error_body, error_reply

CHAT = "chat_with_user"
"""The one api_name that StableToolBench answers itself."""

CHAT_REPLY = Reply(error_body("", "Chat with user."), "builtin")


class VirtualApi:
    """An ASGI endpoint: reads a request, finds its trial and target, and sends what the resolver answers.

    Args:
        catalog: the Apis known without a trial.
        max_body: largest request in bytes.
    """

    def __init__(
        self, resolver: Resolver, catalog: Catalog, trials: TrialRegistry, metrics: Metrics, *, max_body: int
    ) -> None:
        self._resolver = resolver
        self._catalog = catalog
        self._trials = trials
        self._metrics = metrics
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            trial = self._trials.of(scope["path_params"].get("trial"))
            request = parse_request(await read_body(scope, receive, self._max_body))
            status, body = 200, await self._answer(request, trial)
        except ClientGone:
            return
        except MalformedRequest as error:
            status, body = 422, json.dumps({"detail": error.detail}).encode()
        except BodyTooLarge:
            status, body = 413, error_body(f"the request is larger than {self._max_body} bytes")
        except TrialRefused as error:
            status, body = error.status, error_body(str(error))
        if status != 200:
            self._metrics.refused()
        await send_json(body, status, send)

    async def _answer(self, request: VirtualRequest, trial: Trial | None) -> bytes:
        catalog = self._catalog if trial is None else trial.catalog
        target = catalog.target(request.category, request.tool_name, request.api_name)
        try:
            tool_input = parse_input(request.tool_input)
            key = request_key(target.name, tool_input)
        except (InputError, ValueError, RecursionError):
            tool_input, key = request.tool_input, None
        recording = None if trial is None else ApiRecording(trial, target, tool_input)
        reply = await self._reply(target, tool_input, key)
        if recording is not None:
            recording.end(reply.body, reply.provenance)
        return reply.body

    async def _reply(self, target: Target, tool_input: Any, key: str | None) -> Reply:
        if target.name.api == CHAT:
            return CHAT_REPLY
        if key is None:
            self._metrics.answered("")
            return error_reply(PARSE_ERROR)
        found = self._resolver.recent(target, key)
        if found is not None:
            self._metrics.hit()
            return Reply(found.body, f"cache:{found.provenance}")
        reply = await self._resolver.resolve(target, tool_input, key)
        self._metrics.answered(reply.provenance)
        return reply


class ApiRecording:
    """One request of a trial, as it is recorded; in flight until ``end``."""

    def __init__(self, trial: Trial, target: Target, arguments: Any) -> None:
        self._trial = trial
        self._target = target
        self._arguments = arguments
        self._started = trial.elapsed()
        self._ended: ApiCall | None = None
        trial.api_calls.append(self)

    def end(self, body: bytes, provenance: str) -> None:
        """Record the answer."""
        answer = json.loads(body)
        self._ended = self._call(
            status=200,
            error=self._trial.budget.keep(answer["error"]),
            response=self._trial.budget.keep_value(answer["response"]),
            provenance=provenance,
        )

    def record(self) -> ApiCall:
        """The record so far; status 0 while unanswered."""
        return self._ended or self._call(status=0)

    def _call(self, **fields: Any) -> ApiCall:
        return ApiCall(
            started=self._started,
            duration=self._trial.elapsed() - self._started,
            api=self._target.ref,
            offered=self._target.api is not None,
            arguments=self._trial.budget.keep_value(self._arguments),
            **fields,
        )
