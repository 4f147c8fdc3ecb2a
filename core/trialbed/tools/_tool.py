"""The tool an agent calls, with a model-safe name, a JSON Schema, and a call that goes to the virtual API."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import aiohttp

from trialbed.errors import ApiRefused
from trialbed.records import ApiRef, ToolSpec
from trialbed.wire._httpx import httpx, tls_for

TOOL_TIMEOUT = 60.0
Reply = tuple[int, bytes]
"""The status and the body of a response."""

JSON_HEADERS = {"Content-Type": "application/json"}


class ToolClient:
    """Posts the calls of a process's tools, with one client for async code and one for all other threads.

    Connections are kept once it is attached to an event loop. Before that, and for calls in another loop, each call has
    its own. A forked process makes its own too, because processes cannot share a connection.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: aiohttp.ClientSession | None = None
        self._blocking: dict[int, httpx.Client] = {}

    def attach(self) -> None:
        """Keep the connections of the running event loop, unless another loop's are kept already."""
        self._loop = self._loop or asyncio.get_running_loop()

    async def post(self, url: str, body: bytes) -> Reply:
        """Post JSON.

        Raises:
            aiohttp.ClientError, TimeoutError: there is no response.
        """
        if asyncio.get_running_loop() is not self._loop:
            async with _session() as session:
                return await _post(session, url, body)
        self._session = self._session or _session()
        return await _post(self._session, url, body)

    def post_blocking(self, url: str, body: bytes) -> Reply:
        """Post JSON from code that is not async.

        Raises:
            httpx.HTTPError: there is no response.
        """
        if self._loop is None:
            with httpx.Client(timeout=TOOL_TIMEOUT, verify=tls_for(url)) as once:
                return _read(once.post(url, content=body, headers=JSON_HEADERS))
        process = os.getpid()
        client = self._blocking.get(process)
        if client is None:
            # Of two threads that come here at the same time, both get the first one's.
            client = self._blocking.setdefault(process, httpx.Client(timeout=TOOL_TIMEOUT, verify=tls_for(url)))
        return _read(client.post(url, content=body, headers=JSON_HEADERS))

    async def aclose(self) -> None:
        """Close the connections of this process; may be called again."""
        client = self._blocking.pop(os.getpid(), None)
        if client is not None:
            client.close()
        if self._session is not None:
            await self._session.close()
            self._session = None


def _read(response: httpx.Response) -> Reply:
    return response.status_code, response.content


def _session() -> aiohttp.ClientSession:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=TOOL_TIMEOUT, sock_read=TOOL_TIMEOUT)
    return aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())


async def _post(session: aiohttp.ClientSession, url: str, body: bytes) -> Reply:
    async with session.post(url, data=body, headers=JSON_HEADERS, allow_redirects=False) as response:
        return response.status, await response.read()


class Tool:
    """An Api as an agent sees it.

    ``await tool(**arguments)`` and ``tool.invoke(arguments)`` of an adapter return the text for a model: JSON for data,
    the text itself for text, and a text that starts with ``Error:`` for a failure of the Api or of the way to it. Those
    of a function or an object of your own program return the value, and raise ``ApiRefused`` for a failure.
    ``text(arguments)`` and ``await atext(arguments)`` return the text in both.

    Attributes:
        name: ``^[a-zA-Z0-9_-]{1,64}$``, unique within the trial.
        description: for the model.
        parameters: the JSON Schema of the arguments, whole and unaltered.
        metadata: ``original_name``, ``category``, ``tool_name``, ``api_name``.
    """

    def __init__(self, spec: ToolSpec, server_url: str) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self.parameters = spec.parameters
        self._server_url = server_url
        self._client = ToolClient()

    @property
    def api(self) -> ApiRef:
        """The Api behind this tool."""
        return self.spec.api

    @property
    def metadata(self) -> dict[str, str]:
        """The Api's original names."""
        return {"original_name": self.spec.api.title, **dict(self.spec.api)}

    @property
    def args_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, under the name that LangChain gives it."""
        return self.parameters

    def as_langchain(self) -> Any:
        """The same as a LangChain ``BaseTool``, with the raw schema.

        Raises:
            ImportError: langchain-core is not installed.
        """
        try:
            from trialbed.tools._langchain import LangChainTool
        except ModuleNotFoundError as error:
            raise ImportError("as_langchain() needs langchain-core: pip install langchain-core") from error
        return LangChainTool.of(self)

    def as_openai(self) -> dict[str, Any]:
        """Return the definition that OpenAI's API takes among the ``tools`` of a request, with the raw schema."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def as_function(self, *, is_async: bool = False) -> Callable[..., Any]:
        """Return the tool as a plain function with typed parameters and a docstring, for frameworks that need one.

        Names that are not valid for a parameter become identifiers, such as ``from_``. An optional argument that is
        None is left out of the call.

        Args:
            is_async: whether its calls are awaited.
        """
        from trialbed.tools._typed_functions import typed_function

        return typed_function(self, is_async=is_async)

    async def __call__(self, /, **arguments: Any) -> str:
        """Call the Api with these arguments."""
        return await self.ainvoke(arguments)

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str:
        """Call the Api with these arguments, given as a mapping (any names, even ``self``)."""
        return await self.atext(arguments)

    def invoke(self, arguments: Mapping[str, Any]) -> str:
        """Call the Api from code that is not async; blocks the calling thread."""
        return self.text(arguments)

    async def atext(self, arguments: Mapping[str, Any]) -> str:
        """Call the Api, and return the text that a model gets; never raises."""
        return reply_text(await self._answer(arguments))

    def text(self, arguments: Mapping[str, Any]) -> str:
        """The same as ``atext``, from code that is not async."""
        return reply_text(self._answer_blocking(arguments))

    async def _answer(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return _body(await self._client.post(self._server_url, self._request(arguments)))
        except (aiohttp.ClientError, OSError, TypeError, ValueError) as error:
            return _unreachable(error)

    def _answer_blocking(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return _body(self._client.post_blocking(self._server_url, self._request(arguments)))
        except (httpx.HTTPError, TypeError, ValueError) as error:
            return _unreachable(error)

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The same as ``invoke``."""
        return self.invoke(arguments)

    @property
    def func(self) -> Callable[..., str]:
        """The tool as a plain function of its arguments, under the name that LangChain gives it."""
        return lambda **arguments: self.invoke(arguments)

    def _request(self, arguments: Mapping[str, Any]) -> bytes:
        call = {**dict(self.spec.api), "tool_input": dict(arguments), "strip": "", "toolbench_key": "EMPTY"}
        return json.dumps(call, ensure_ascii=False, allow_nan=False).encode()


class ValueTool(Tool):
    """A tool of an agent that is a function or an object of this process.

    Its calls return the Api's values, and raise ``ApiRefused`` if the Api answers with an error.
    """

    async def ainvoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the Api, and return its value."""
        return _value(await self._answer(arguments))

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the Api from code that is not async, and return its value."""
        return _value(self._answer_blocking(arguments))


def _value(body: Mapping[str, Any]) -> Any:
    if body.get("error"):
        raise ApiRefused(body["error"])
    return body.get("response", "")


def connected_tools(specs: Iterable[ToolSpec], server_url: str, client: ToolClient) -> list[Tool]:
    """Return the tools of a trial in the running event loop, which share the connections of their process."""
    client.attach()
    tools = [Tool(spec, server_url) for spec in specs]
    for tool in tools:
        tool._client = client
    return tools


def _body(reply: Reply) -> Mapping[str, Any]:
    status, content = reply
    if status != 200:
        return {"error": f"the server returned status {status}: {content.decode(errors='replace')[:500]}"}
    body = json.loads(content)
    return body if isinstance(body, dict) else {"response": body}


def reply_text(body: Mapping[str, Any]) -> str:
    """Return the text of a virtual API's answer for an agent, with data as JSON and text unchanged."""
    response = body.get("response", "")
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    error = body.get("error", "")
    return f"Error: {error}\n{text}".rstrip() if error else text


def _unreachable(error: Exception) -> Mapping[str, Any]:
    return {"error": f"the call could not be made: {type(error).__name__}: {error}"}
