"""The tool an agent calls: a model-safe name, a JSON Schema, and a call that goes to the virtual API."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trialbed.records import ApiRef, ToolSpec
from trialbed.wire._httpx import httpx, parsed_url, tls_for

TOOL_TIMEOUT = 60.0


class BlockingClient:
    """One HTTP client for the calls of code that is not async, for all threads of a process.

    It is made at the first call, and made anew in a process that was forked: two processes cannot share connections.
    """

    def __init__(self) -> None:
        self._clients: dict[int, httpx.Client] = {}

    def post(self, url: str, *, json: Mapping[str, Any]) -> httpx.Response:
        """Post JSON.

        Raises:
            httpx.HTTPError: there is no response.
        """
        process = os.getpid()
        client = self._clients.get(process)
        if client is None:
            # Of two threads that come here at the same time, both get the first one's.
            client = self._clients.setdefault(process, httpx.Client(timeout=TOOL_TIMEOUT, verify=tls_for(url)))
        return client.post(url, json=json)

    def close(self) -> None:
        """Close the connections of this process; may be called again."""
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()


class Tool:
    """An Api as an agent sees it.

    ``await tool(**arguments)`` and ``tool.invoke(arguments)`` return the response as text: JSON for data, the
    text itself for text. A failure of the Api or of the way to it is returned as text that starts with
    ``Error:``; neither ever raises for it.

    Attributes:
        name: ``^[a-zA-Z0-9_-]{1,64}$``, unique within the trial.
        description: for the model.
        parameters: the JSON Schema of the arguments, whole and unaltered.
        metadata: ``original_name``, ``category``, ``tool_name``, ``api_name``.
    """

    def __init__(self, spec: ToolSpec, server_url: str, client: httpx.AsyncClient | None = None) -> None:
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self.parameters = spec.parameters
        self._server_url = server_url
        self._client = client
        self._blocking: BlockingClient | None = None

    @property
    def api(self) -> ApiRef:
        """The Api behind this tool."""
        return self.spec.api

    @property
    def metadata(self) -> dict[str, str]:
        """The Api's original names."""
        api = self.spec.api
        return {
            "original_name": api.title,
            "category": api.category,
            "tool_name": api.tool_name,
            "api_name": api.api_name,
        }

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
        """The definition that OpenAI's API takes among the ``tools`` of a request, with the raw schema."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def as_function(self, *, is_async: bool = False) -> Callable[..., Any]:
        """The same as a plain function, from whose typed parameters and docstring frameworks make tools.

        Names that no parameter can have become identifiers, such as ``from_``. An optional argument that is None is
        left out of the call.

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
        try:
            if self._client is not None:
                return _text(await self._client.post(parsed_url(self._server_url), json=self._payload(arguments)))
            async with httpx.AsyncClient(timeout=TOOL_TIMEOUT, verify=tls_for(self._server_url)) as client:
                return _text(await client.post(self._server_url, json=self._payload(arguments)))
        except (httpx.HTTPError, TypeError, ValueError) as error:
            return _unreachable(error)

    def invoke(self, arguments: Mapping[str, Any]) -> str:
        """Call the Api from code that is not async; blocks the calling thread."""
        try:
            if self._blocking is not None:
                return _text(self._blocking.post(self._server_url, json=self._payload(arguments)))
            with httpx.Client(timeout=TOOL_TIMEOUT, verify=tls_for(self._server_url)) as client:
                return _text(client.post(self._server_url, json=self._payload(arguments)))
        except (httpx.HTTPError, TypeError, ValueError) as error:
            return _unreachable(error)

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The same as ``invoke``."""
        return self.invoke(arguments)

    @property
    def func(self) -> Callable[..., str]:
        """The tool as a plain function of its arguments, under the name that LangChain gives it."""
        return lambda **arguments: self.invoke(arguments)

    def _payload(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        api = self.spec.api
        return {
            "category": api.category,
            "tool_name": api.tool_name,
            "api_name": api.api_name,
            "tool_input": dict(arguments),
            "strip": "",
            "toolbench_key": "EMPTY",
        }


def connected_tools(
    specs: Iterable[ToolSpec], server_url: str, client: httpx.AsyncClient, blocking: BlockingClient | None
) -> list[Tool]:
    """The tools of a trial, which share the clients of their process."""
    tools = [Tool(spec, server_url, client) for spec in specs]
    for tool in tools:
        tool._blocking = blocking
    return tools


def _text(reply: httpx.Response) -> str:
    if reply.status_code != 200:
        return f"Error: the server returned status {reply.status_code}: {reply.text[:500]}"
    body = reply.json()
    return reply_text(body) if isinstance(body, dict) else json.dumps(body, ensure_ascii=False)


def reply_text(body: Mapping[str, Any]) -> str:
    """Return the text that an agent gets for an answer of the virtual API: JSON for data, text as it is."""
    response = body.get("response", "")
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    error = body.get("error", "")
    return f"Error: {error}\n{text}".rstrip() if error else text


def _unreachable(error: Exception) -> str:
    return f"Error: the call could not be made: {type(error).__name__}: {error}"
