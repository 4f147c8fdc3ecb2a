"""The reference framework, which is the simplest correct tool loop and the baseline of every comparison.

It asks the model, makes all calls of a turn concurrently, returns the results in the model's order, and ends when the
model answers with a text. It adds nothing to the prompt and changes no schema. Arguments are not validated, since the
API does this. Authors of adapters can read here what an adapter has to do. The loop is there for each dialect, as the
baseline of frameworks that use it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from trialbed import Answer, BaseAgent, ClaimedCall, Limits, ModelEndpoint, ModelFailed, Tool, Usage, finish_of
from trialbed.wire import Call, ModelMessage, OfferedTool
from trialbed.wire.dialects import dialect
from trialbed.wire.dialects.chat_completions import read_body
from trialbed_controlled import assistant_message

MAX_ERROR_TEXT = 500
NO_HEADERS: Mapping[str, str] = {}


class ReferenceAgent(BaseAgent):
    """A tool loop over ``POST {base_url}/chat/completions``, without streaming or retries."""

    contract = "3"
    converses = True

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._session: aiohttp.ClientSession | None = None
        self._messages: list[Any] = []
        self._calls: list[ClaimedCall] = []
        self._usage: Usage | None = Usage()

    @classmethod
    def framework_version(cls) -> str:
        """Return the version of Trialbed, which contains the loop."""
        from trialbed import __version__

        return str(__version__)

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Store the tools by name and in the model's format."""
        self._tools = {tool.name: tool for tool in tools}
        self._definitions = [tool.as_openai() for tool in tools]

    async def answer(self, query: str) -> Answer:
        """Run the loop until the model answers with a text or reaches the limit of turns."""
        self._calls, self._usage = [], Usage()
        messages = self._messages = self._messages or [{"role": "system", "content": self.system_prompt}]
        messages.append({"role": "user", "content": query})
        for turn in range(1, self.limits.max_steps + 1):
            message = await self._ask(messages)
            messages.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return self._finish(message.get("content") or "", turn)
            messages += await asyncio.gather(*map(self._result, calls))
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=self.limits.max_steps)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the model's next message.

        Raises:
            ModelFailed: the model cannot be reached, or does not answer with a completion.
        """
        return self._message(await self._post("chat/completions", self._request(messages)))

    async def _post(self, path: str, request: Mapping[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> bytes:
        """Return the body of the endpoint's answer.

        Raises:
            ModelFailed: the endpoint cannot be reached, or responds with an error.
        """
        if self._session is None:
            seconds = self.limits.request_timeout
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
            self._session = aiohttp.ClientSession(timeout=timeout, headers={"Content-Type": "application/json"})
        body = json.dumps(request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        sent = {"Authorization": f"Bearer {self.endpoint.api_key}", **headers}
        url = f"{self.endpoint.base_url}/{path}"
        try:
            async with self._session.post(url, data=body, headers=sent, allow_redirects=False) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ModelFailed(f"the model could not be reached: {type(error).__name__}: {error}") from error
        if response.status != 200:
            text = content.decode(errors="replace")[:MAX_ERROR_TEXT]
            raise ModelFailed(f"the model's endpoint answered with status {response.status}: {text}")
        return content

    def _request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": messages,
            "temperature": self.endpoint.temperature or 0.0,
            "seed": self.endpoint.seed,
        }
        if self.endpoint.max_tokens is not None:
            request["max_tokens"] = self.endpoint.max_tokens
        if self._definitions:
            request["tools"] = self._definitions
        return request

    def _message(self, body: bytes) -> dict[str, Any]:
        reading = read_body(body)
        message = assistant_message(reading.response, reading.problem.message if reading.problem else "")
        self._count(reading.answer.usage or {})
        return message

    def _count(self, usage: Mapping[str, int]) -> None:
        if not usage or self._usage is None:
            self._usage = None
            return
        self._usage += Usage(
            prompt_tokens=usage.get("prompt_tokens", 0), completion_tokens=usage.get("completion_tokens", 0)
        )

    async def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        content = await self._call(call["function"]["name"], call["function"]["arguments"])
        return {"role": "tool", "tool_call_id": call["id"], "content": content}

    async def _call(self, name: str, text: str) -> str:
        tool = self._tools.get(name)
        if tool is None:
            return f"Error: there is no tool {name!r}"
        try:
            arguments = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            return f"Error: the arguments are not JSON: {error}"
        if not isinstance(arguments, dict):
            return "Error: the arguments must be a JSON object"
        index = len(self._calls)
        self._calls.append(ClaimedCall(name=name, api=tool.api, arguments=arguments))
        response = await tool.ainvoke(arguments)
        self._calls[index] = self._calls[index].model_copy(update={"response": response})
        return response

    def _finish(self, text: str, turns: int) -> Answer:
        finish = finish_of(text)
        return Answer(final_answer=text, calls=tuple(self._calls), finish=finish, usage=self._usage, model_turns=turns)


class OtherDialectAgent(ReferenceAgent):
    """The reference loop. A subclass names the dialect, and a dialect skips settings that it lacks."""

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Store the tools by name and in the form of the offer."""
        super().bind_tools(tools, server_url=server_url)
        self._offered = [OfferedTool(tool.name, tool.description, tool.parameters) for tool in tools]

    async def answer(self, query: str) -> Answer:
        """Run the loop until the model answers with a text or reaches the limit of turns."""
        self._calls, self._usage = [], Usage()
        messages = self._messages = self._messages or [ModelMessage(role="system", content=self.system_prompt)]
        messages.append(ModelMessage(role="user", content=query))
        for turn in range(1, self.limits.max_steps + 1):
            said = await self._ask_for_message(messages)
            messages.append(said)
            if not said.calls:
                return self._finish(said.text, turn)
            messages += await asyncio.gather(*map(self._tell, said.calls))
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=self.limits.max_steps)

    async def _ask_for_message(self, messages: Sequence[ModelMessage]) -> ModelMessage:
        spoken = dialect(self.dialect)
        request = spoken.write_request(self.endpoint.model, messages, self._settings(), self._offered)
        reading = spoken.read_body(await self._post(spoken.PATH, request, spoken.HEADERS))
        if reading.problem is not None:
            raise ModelFailed(f"the model's endpoint did not answer with a message: {reading.problem.message}")
        self._count(reading.answer.usage or {})
        said = reading.answer
        # Without an id, a call cannot have a result.
        calls = tuple(call for call in said.calls if call.id)
        return ModelMessage(content=said.content, calls=calls, source=said.source if calls == said.calls else None)

    def _settings(self) -> dict[str, Any]:
        asked = self.endpoint
        settings: dict[str, Any] = {"temperature": asked.temperature or 0.0, "seed": asked.seed}
        return settings if asked.max_tokens is None else {**settings, "max_tokens": asked.max_tokens}

    async def _tell(self, call: Call) -> ModelMessage:
        return ModelMessage(role="tool", call_id=call.id, content=await self._call(call.name, call.arguments))


class MessagesReferenceAgent(OtherDialectAgent):
    """The loop over Messages."""

    dialect = "messages"


class ResponsesReferenceAgent(OtherDialectAgent):
    """The loop over Responses."""

    dialect = "responses"
