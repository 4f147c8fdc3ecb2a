"""A framework of a few lines that asks for streams and says truly what it did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trialbed import Answer, BaseAgent, ClaimedCall, ModelFailed, Tool, Usage
from trialbed.wire import ChatClient
from trialbed.wire.dialects.chat_completions import first_message


class StreamingAgent(BaseAgent):
    """The plainest loop, streamed."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        return "1.0"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def answer(self, query: str) -> Answer:
        messages: list[dict[str, Any]] = [{"role": "user", "content": query}]
        calls: list[ClaimedCall] = []
        usage = Usage()
        async with ChatClient(self.endpoint.base_url, self.endpoint.api_key) as client:
            for turn in range(1, self.limits.max_steps + 1):
                reading = await client.complete(self._request(messages))
                if reading.problem is not None:
                    raise ModelFailed(reading.problem.message)
                counts = reading.answer.usage or {}
                usage += Usage(
                    prompt_tokens=counts.get("prompt_tokens", 0), completion_tokens=counts.get("completion_tokens", 0)
                )
                message = first_message(reading.response)
                messages.append(message)
                if not message.get("tool_calls"):
                    text = message["content"]
                    return Answer(
                        final_answer=text, calls=tuple(calls), finish="give_answer", usage=usage, model_turns=turn
                    )
                for wanted in message["tool_calls"]:
                    tool = self._tools[wanted["function"]["name"]]
                    arguments = json.loads(wanted["function"]["arguments"])
                    response = await tool.ainvoke(arguments)
                    calls.append(ClaimedCall(name=tool.name, api=tool.api, arguments=arguments, response=response))
                    messages.append({"role": "tool", "tool_call_id": wanted["id"], "content": response})
        return Answer(final_answer="", calls=tuple(calls), usage=usage, model_turns=self.limits.max_steps)

    def _request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        functions = [{"name": tool.name, "parameters": dict(tool.parameters)} for tool in self._tools.values()]
        return {
            "model": self.endpoint.model,
            "messages": messages,
            "tools": [{"type": "function", "function": function} for function in functions],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
