"""MCP servers, either programs started here or URLs.

The official SDK speaks the protocol. This uses its dispatcher without ``ClientSession``, which rejects results that
differ from the specification in any field.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trialbed.errors import TrialbedError, UsageError
from trialbed.wire.redaction import Redaction, shown_url
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import NOT_A_MESSAGE, TOO_LARGE, CallAnswer, ToolsUnreachable
from trialbed_tools.located import Located
from trialbed_tools.secrets import expand_url

PROTOCOL = "2025-06-18"

OLDEST_SDK = "2.3"
"""The first version that keeps HTTP redirects within one origin and accepts a bound for events."""

MOST_PAGES, MOST_TOOLS = 100, 2_000
"""Most answers, and most tools, in one list."""

SECONDS = 600.0
"""Timeout for one request. The trial ends earlier."""

IMPORT_SECONDS = 300.0
"""Timeout for listing a server's tools. The first start may download a package while a person waits."""

CLOSING_SECONDS = 4.0
"""Time to close a session."""

TAIL = 2_000
"""Characters of a program's standard error in a message."""

METHOD_NOT_FOUND = -32601
REFUSALS = (-32602, METHOD_NOT_FOUND)
"""JSON-RPC error codes that concern the call."""

Opener = Callable[[ExitStack, deque[str]], AbstractAsyncContextManager[tuple[Any, Any]]]
"""Starts or connects to a server and returns the streams of an SDK transport.

It registers a cleanup that works without the event loop, and keeps the end of the server's standard error.
"""


def require_sdk() -> None:
    """Check that the SDK has the bounds that calls to servers need.

    Raises:
        UsageError: the SDK is too old. Some frameworks need an old one.
    """
    from packaging.version import Version

    found = version("mcp")
    if Version(found) < Version(OLDEST_SDK):
        raise UsageError(
            f"tools of MCP servers need mcp {OLDEST_SDK} or later, and this environment has {found}: update it, "
            "install Trialbed separately from packages that need the older one, or use recorded answers"
        )


class McpConnection:
    """A session with a server. It begins with the first request."""

    def __init__(self, open_server: Opener, redaction: Redaction) -> None:
        self._open = open_server
        self._redaction = redaction
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[Exception | None] | None = None
        self._begun: asyncio.Future[tuple[Any, dict[str, Any]]]
        self._resources = ExitStack()
        self._errors: deque[str] = deque(maxlen=20)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools in MCP's format.

        Raises:
            ToolsUnreachable: the server does not list its tools.
        """
        found: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = await self._request("tools/list", params)
            tools, cursor = page.get("tools"), page.get("nextCursor")
            if not isinstance(tools, list):
                raise ToolsUnreachable("the server answers tools/list without tools")
            found += tools
            if len(found) > MOST_TOOLS:
                raise ToolsUnreachable(f"the server has more than {MOST_TOOLS:,} tools")
            if not isinstance(cursor, str) or not cursor:
                return found
            params = {"cursor": cursor}
        raise ToolsUnreachable(f"the server lists its tools in more than {MOST_PAGES} answers")

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        """Call a tool.

        Raises:
            ToolsUnreachable: there is no answer.
        """
        return tool_answer(await self._request("tools/call", {"name": name, "arguments": arguments}))

    async def close(self) -> None:
        """End the session and the server that was started for it, even when cancelled."""
        task, self._task = self._task, None
        if task is None:
            return
        if task.get_loop() is not asyncio.get_running_loop():
            # Its event loop was abandoned, so nothing can be awaited. If the loop resumes, the task releases the pipes.
            self._resources.close()
            with suppress(RuntimeError):
                task.get_loop().call_soon_threadsafe(task.cancel)
            return
        while not task.done():  # a server at a URL may block the end of the session
            task.cancel()
            await asyncio.wait((task,), timeout=CLOSING_SECONDS)

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, PARSE_ERROR

        async with self._turn:
            if self._task is None:
                self._errors.clear()
                self._begun = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(self._serve())
            task, reason = self._task, "the server has ended the session"
            try:
                async with asyncio.timeout(SECONDS):
                    await asyncio.wait((task, self._begun), return_when=asyncio.FIRST_COMPLETED)
                    if self._begun.done():
                        session, options = self._begun.result()
                        answer: dict[str, Any] = await session.send_raw_request(method, params, options)
                        return answer
            except TimeoutError:
                reason = f"the server gives no answer within {SECONDS:g} s"
            except MCPError as error:
                refuses = error.code in REFUSALS or TOO_LARGE in error.message
                if refuses and method == "tools/call":
                    return {"isError": True, "content": [{"type": "text", "text": error.message[:2000]}]}
                if refuses or error.code not in (CONNECTION_CLOSED, PARSE_ERROR):
                    raise ToolsUnreachable(f"the server answers with an error: {error.message[:500]}") from None
                reason = NOT_A_MESSAGE if error.code == PARSE_ERROR else reason
                await asyncio.wait((task,), timeout=1)  # the transport says why
            await self.close()
            cause = None if task.cancelled() else task.result()
            if cause is not None and not isinstance(cause, ToolsUnreachable):
                raise cause
            tail = self._redaction.text("".join(self._errors))[-TAIL:].strip()
            raise ToolsUnreachable(f"{cause or reason}{f'; it wrote: {tail}' if tail else ''}") from None

    async def _serve(self) -> Exception | None:
        """Hold a session until it is cancelled or the server exits, and return the reason."""
        import anyio
        from mcp import MCPError
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp.types import CONNECTION_CLOSED

        async def refuse(_context: Any, method: str, _params: Any) -> dict[str, Any]:
            # There is no model to sample and no user to fill in a form.
            if method == "ping":
                return {}
            raise MCPError(METHOD_NOT_FOUND, "this client does not offer it")

        async def ignore(_context: Any, _method: str, _params: Any) -> None:
            """Ignore all notifications."""

        try:
            async with self._open(self._resources, self._errors) as streams, anyio.create_task_group() as group:
                session: Any = JSONRPCDispatcher(*streams)
                await group.start(session.run, refuse, ignore)
                options: dict[str, Any] = {"cancel_on_abandon": False}
                client = {"name": "trialbed", "version": version("trialbed")}
                params = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
                answer = await session.send_raw_request("initialize", params, options)
                options["headers"] = {"mcp-protocol-version": str(answer.get("protocolVersion", PROTOCOL))}
                await session.notify("notifications/initialized", None, options)
                self._begun.set_result((session, options))
        except Exception as error:  # noqa: BLE001 - of any kind, and in groups
            for cause in sorted(_leaves(error), key=lambda one: not isinstance(one, TrialbedError)):
                if isinstance(cause, TrialbedError):
                    return cause
                if not isinstance(cause, MCPError):
                    text = f"{type(cause).__name__}: {cause}".rstrip(". ")
                    return ToolsUnreachable(f"{text}; is the server running at this address?")
                if cause.code != CONNECTION_CLOSED:
                    return ToolsUnreachable(f"the server refuses to begin: {cause.message[:300]}")
        finally:
            self._resources.close()
        return None


def _leaves(error: Exception) -> list[Exception]:
    parts = error.exceptions if isinstance(error, ExceptionGroup) else ()
    return [leaf for part in parts for leaf in _leaves(part)] or [error]


def tool_answer(result: dict[str, Any]) -> CallAnswer:
    """Convert the content of a call's result, or else its structured content, to an answer."""
    content = result.get("content")
    parts = [_part(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = "\n".join(map(str, parts))
    if result.get("isError") is True:
        return CallAnswer(error=text[:20_000] or "the tool failed")
    if not parts:
        return CallAnswer(result.get("structuredContent", ""))
    if all(isinstance(part, str) for part in parts):
        return CallAnswer(text)
    return CallAnswer(parts[0] if len(parts) == 1 else parts)


def _part(part: dict[str, Any]) -> Any:
    """Convert a part of a result. Texts stay unchanged. Images and files become their type and size."""
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource" and isinstance(part.get("resource"), dict):
        part = {"type": kind, **part["resource"]}
    size = next((len(part[key]) for key in ("data", "blob") if isinstance(part.get(key), str)), None)
    kept = {key: part[key] for key in ("type", "uri", "name", "description", "mimeType", "text") if key in part}
    return kept if size is None else {**kept, "base64_characters": size}


def server_connection(
    form: ServerForm, folder: Path, headers: Mapping[str, str], redaction: Redaction
) -> McpConnection:
    """Return a connection to a server. The first request starts it."""
    if form.command is not None:
        from trialbed_tools._transports import open_program

        return McpConnection(partial(open_program, form, folder), redaction)
    from trialbed_tools._transports import open_url

    return McpConnection(partial(open_url, expand_url(str(form.url), "mcp.url"), headers), redaction)


def list_server(form: ServerForm, folder: Path, headers: Mapping[str, str], redaction: Redaction) -> Located:
    """Return the tools that a server lists.

    Raises:
        ToolsUnreachable: the server does not list its tools.
        UsageError: a variable that it needs is not set, or the SDK is too old.
    """
    require_sdk()

    async def ask() -> list[dict[str, Any]]:
        connection = server_connection(form, folder, headers, redaction)
        try:
            async with asyncio.timeout(IMPORT_SECONDS):
                return await connection.list_tools()
        except TimeoutError:
            raise ToolsUnreachable(f"the server lists no tools within {IMPORT_SECONDS:g} s") from None
        finally:
            await connection.close()

    name = redaction.text(form.command or shown_url(str(form.url)))
    try:
        return Located(name, {"tools": redaction.value(asyncio.run(ask()))})
    except ToolsUnreachable as error:
        raise ToolsUnreachable(f"{name}: {redaction.text(str(error))}") from None
