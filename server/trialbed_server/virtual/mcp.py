"""Serve a trial's tools over the Model Context Protocol at ``POST /t/{trial}/mcp``."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any, cast

from starlette.types import Receive, Scope, Send

from trialbed.records import ToolSpec
from trialbed.texts import whole_text
from trialbed.wire.mcp import OfferedTools, load_sdk, serve_request
from trialbed_server._http import TrialEndpoint, read_already, send_json
from trialbed_server.trials import OpenTrial
from trialbed_server.virtual.endpoint import MalformedRequest, VirtualApi, VirtualRequest, parse_json

PARSE_ERROR = -32700
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
        code = PARSE_ERROR if status == 400 else INVALID_REQUEST
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
