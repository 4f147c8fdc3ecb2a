"""The plain loop for dialects other than chat completions, as the baseline for frameworks that use them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from trialbed import Answer, ModelFailed, Tool, Usage
from trialbed.wire import Call, ModelMessage, OfferedTool
from trialbed.wire.dialects import dialect
from trialbed_plugins.frameworks.reference import ReferenceAgent


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
