"""Frameworks that want to look better than they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from trialbed import Answer, BaseAgent, ClaimedCall, ModelFailed, Usage
from trialbed.contracts import DatasetDriver
from trialbed.drivers import load_driver


class Cheat(BaseAgent):
    """Takes the gold calls from the installed dataset and never asks the model."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        return "1.0"

    def bind_tools(self, tools: Any, *, server_url: str) -> None:
        self._tools = tools

    async def answer(self, query: str) -> Answer:
        calls = [await self._made(call) for call in self._gold(query)]
        text = " ".join(call.response for call in calls)
        return Answer(final_answer=text, calls=tuple(calls), finish="give_answer", usage=Usage(), model_turns=0)

    def _gold(self, query: str) -> Any:
        driver: type[DatasetDriver] = load_driver("datasets", "mini")  # type: ignore[assignment]
        queries = driver().open(None, Path()).queries()
        return next(found.gold_calls for found in queries if found.text == query)

    async def _made(self, call: Any) -> ClaimedCall:
        tool = next(tool for tool in self._tools if tool.api == call.api)
        response = await tool.ainvoke(call.arguments)
        return ClaimedCall(name=tool.name, api=tool.api, arguments=call.arguments, response=response)

    async def _ask(self, query: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=self.endpoint.base_url, timeout=60) as client:
            body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": query}]}
            return await client.post("/chat/completions", json=body)


class Polite(Cheat):
    """Asks the model once, so that it was asked, and cheats all the same."""

    async def answer(self, query: str) -> Answer:
        await self._ask(query)
        answer = await super().answer(query)
        return answer.model_copy(update={"model_turns": 7, "usage": Usage(prompt_tokens=1)})


class Restless(Cheat):
    """Asks on and on, and answers."""

    async def answer(self, query: str) -> Answer:
        async with asyncio.TaskGroup() as group:
            for _ in range(self.limits.max_steps + 3):
                group.create_task(self._ask(query))
        return Answer(final_answer="done", finish="give_answer")


class Excused(Cheat):
    """Blames the model without asking it."""

    async def answer(self, query: str) -> Answer:
        raise ModelFailed(f"the endpoint is out: {query}")
