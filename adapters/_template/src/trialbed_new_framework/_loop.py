"""An agent framework of a few lines, as a placeholder for yours.

REPLACE: delete this module when it is no longer used.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx


class ModelError(Exception):
    """The model could not be reached, refused, or sent a reply that cannot be read."""


@dataclass(frozen=True)
class Function:
    """A tool that the model may call; ``run`` gets the arguments and returns text."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], Awaitable[str]]

    def as_tool(self) -> dict[str, Any]:
        """Return the tool's definition in a request."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass
class Call:
    """A call that was made."""

    name: str
    arguments: dict[str, Any]
    response: str = ""


@dataclass
class Outcome:
    """The outcome of a run.

    Attributes:
        text: the model's answer.
        calls: those made, in the model's order.
        tokens: of prompts and of completions; None if the model did not say.
    """

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    tokens: tuple[int, int] | None = (0, 0)
    turns: int = 0


class Model:
    """A model behind an OpenAI-compatible endpoint; a request may take this many seconds."""

    def __init__(self, base_url: str, api_key: str, *, timeout: float, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        # Loading certificates takes longer than a trial; an endpoint without TLS needs none.
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if base_url.startswith("http://") else True
        headers = {"Authorization": f"Bearer {api_key}"}
        self._client = httpx.AsyncClient(base_url=base_url, headers=headers, timeout=timeout, verify=verify)

    async def complete(self, messages: Sequence[Any], functions: Sequence[Function]) -> dict[str, Any]:
        """Return the model's reply, whole.

        Raises:
            ModelError: the model cannot be reached, or its reply cannot be read.
        """
        tools = {"tools": [function.as_tool() for function in functions]} if functions else {}
        body = {**self._settings, "messages": messages, **tools}
        try:
            response = await self._client.post("/chat/completions", json=body)
            if response.status_code != 200:
                raise ModelError(f"status {response.status_code}: {response.text[:500]}")
            reply: dict[str, Any] = response.json()
            reply["choices"][0]["message"]["role"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise ModelError(f"{type(error).__name__}: {error}") from error
        return reply

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class Loop:
    """Asks the model and makes the calls that it requests, until it answers in text."""

    def __init__(self, model: Model, *, instructions: str, functions: Sequence[Function]) -> None:
        self._model = model
        self._instructions = instructions
        self._functions = {function.name: function for function in functions}

    async def run(self, task: str) -> Outcome:
        """Work on the task.

        Raises:
            ModelError: the model failed.
        """
        outcome = Outcome()
        messages: list[Any] = [
            {"role": "system", "content": self._instructions},
            {"role": "user", "content": task},
        ]
        while True:
            message = await self._ask(messages, outcome)
            wanted = message.get("tool_calls") or []
            if not wanted:
                outcome.text = message.get("content") or ""
                return outcome
            messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": wanted})
            messages += await asyncio.gather(*(self._result(call, outcome) for call in wanted))

    async def _ask(self, messages: Sequence[Any], outcome: Outcome) -> dict[str, Any]:
        reply = await self._model.complete(messages, list(self._functions.values()))
        outcome.turns += 1
        usage = reply.get("usage")
        if usage is None or outcome.tokens is None:
            outcome.tokens = None
        else:
            prompt, completion = outcome.tokens
            outcome.tokens = (prompt + usage["prompt_tokens"], completion + usage["completion_tokens"])
        message: dict[str, Any] = reply["choices"][0]["message"]
        return message

    async def _result(self, wanted: Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
        """Return the message that answers a call; if something is wrong with the call, the message says so."""
        name, text = wanted["function"]["name"], wanted["function"]["arguments"]
        function = self._functions.get(name)
        if function is None:
            content = f"Error: there is no function {name!r}"
        else:
            content = await self._make(function, text, outcome)
        return {"role": "tool", "tool_call_id": wanted["id"], "content": content}

    async def _make(self, function: Function, text: str, outcome: Outcome) -> str:
        try:
            arguments = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            return f"Error: the arguments are not JSON: {error}"
        if not isinstance(arguments, dict):
            return f"Error: the arguments are not a JSON object: {text}"
        call = Call(function.name, arguments)
        outcome.calls.append(call)
        call.response = await function.run(arguments)
        return call.response
