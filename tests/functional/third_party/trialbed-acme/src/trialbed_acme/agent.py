"""A framework of one small loop, wrapped as Trialbed asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import httpx

from trialbed import Answer, BaseAgent, ClaimedCall, Deviation, ModelFailed, Tool, finish_of


class AcmeAgent(BaseAgent):
    """Asks the model, makes the calls it wants one after the other, and asks again."""

    contract: ClassVar[str] = "3"
    deviations: ClassVar[tuple[Deviation, ...]] = (
        Deviation(check="parallel_calls_overlap", text="makes parallel calls one after the other"),
    )

    @classmethod
    def framework_version(cls) -> str:
        return "7.0"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def answer(self, query: str) -> Answer:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self.system_prompt},
            {"role": "user", "content": query},
        ]
        calls: list[ClaimedCall] = []
        async with httpx.AsyncClient(base_url=self.endpoint.base_url, timeout=self.limits.request_timeout) as client:
            for turn in range(1, self.limits.max_steps + 1):
                message = await self._ask(client, messages)
                messages.append(message)
                if not message.get("tool_calls"):
                    text = message.get("content") or ""
                    return Answer(final_answer=text, calls=tuple(calls), finish=finish_of(text), model_turns=turn)
                for wanted in message["tool_calls"]:
                    content = await self._call(wanted["function"], calls)
                    messages.append({"role": "tool", "tool_call_id": wanted["id"], "content": content})
        return Answer(final_answer="", calls=tuple(calls), model_turns=self.limits.max_steps)

    async def _ask(self, client: httpx.AsyncClient, messages: list[dict[str, Any]]) -> dict[str, Any]:
        reply = await client.post("/chat/completions", json=self._request(messages))
        if reply.is_error:
            raise ModelFailed(f"the model answered {reply.status_code}: {reply.text[:200]}")
        message: dict[str, Any] = reply.json()["choices"][0]["message"]
        return message

    def _request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "model": self.endpoint.model,
            "temperature": self.endpoint.temperature,
            "seed": self.endpoint.seed,
            "messages": messages,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in self._tools.values()
            ],
        }

    async def _call(self, function: Mapping[str, str], calls: list[ClaimedCall]) -> str:
        tool = self._tools.get(function["name"])
        if tool is None:
            return f"Error: there is no tool {function['name']!r}"
        try:
            arguments = json.loads(function["arguments"])
        except ValueError as error:
            return f"Error: the arguments are not JSON: {error}"
        response = await tool.ainvoke(arguments)
        calls.append(ClaimedCall(name=tool.name, api=tool.api, arguments=arguments, response=response))
        return response
