"""``POST /t/{trial}/mcp``: a trial's tools over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from trialbed.records import ToolSpec
from trialbed.texts import whole_text
from trialbed.wire.mcp import OfferedTools, load_sdk, serve_request
from trialbed_server._http import BodyTooLarge, ClientGone, read_already, read_body
from trialbed_server.trials import OpenTrial, TrialRefused
from trialbed_server.virtual.endpoint import MalformedRequest, VirtualApi, VirtualRequest, parse_json

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
"""Codes of JSON-RPC."""


class McpEndpoint:
    """Serves the tools of a trial over the Model Context Protocol, with the official SDK.

    A call is answered and recorded as one to ``/virtual``. Its arguments are not compared with the tool's schema, since
    no other way to call a tool does that.
    """

    def __init__(self, virtual: VirtualApi) -> None:
        self._virtual = virtual
        self._max_body = virtual.options.max_body
        self._loaded = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            trial = self._virtual.trials.find(scope["path_params"]["trial"])
            body = _writable(await read_body(scope, receive, self._max_body))
        except ClientGone:
            return
        except TrialRefused as error:
            await self._refuse(str(error), error.status, INVALID_REQUEST, scope, receive, send)
        except BodyTooLarge:
            message = f"the request is larger than {self._max_body} bytes"
            await self._refuse(message, 413, INVALID_REQUEST, scope, receive, send)
        except MalformedRequest as error:
            await self._refuse(error.detail[0]["msg"], 400, PARSE_ERROR, scope, receive, send)
        else:
            with trial.in_use():
                await self._load()
                tools = OfferedTools(trial.registration.tools, partial(self._call, trial, body))
                await serve_request(tools, scope, read_already(body, receive), send, max_body=self._max_body)

    async def _call(self, trial: OpenTrial, sent: bytes, tool: ToolSpec, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call the Api of a tool; the text is the one that ``trialbed.Tool`` returns."""
        api = tool.api
        request = VirtualRequest(api.category, api.tool_name, api.api_name, arguments)
        answer = (await self._virtual.answer(request, trial, sent)).document()
        from trialbed.tools import reply_text  # it imports a client, which no other request needs

        return whole_text(reply_text(answer)), bool(answer["error"])

    async def _load(self) -> None:
        if not self._loaded:
            # In a thread, since other trials must not wait for it.
            await asyncio.to_thread(load_sdk)
            self._loaded = True

    async def _refuse(self, message: str, status: int, code: int, scope: Scope, receive: Receive, send: Send) -> None:
        self._virtual.metrics.refused()
        document = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
        await JSONResponse(document, status)(scope, receive, send)


def _writable(body: bytes) -> bytes:
    """A body of JSON without lone surrogates, which the SDK does not read.

    Raises:
        MalformedRequest: it is not JSON.
    """
    data = parse_json(body)
    return whole_text(json.dumps(data, ensure_ascii=False)).encode() if b"\\u" in body else body
