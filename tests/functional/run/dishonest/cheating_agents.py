"""Frameworks that know the right answers, and try to be scored for them; one for each cheat."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import httpx

from trialbed import Answer, BaseAgent, ClaimedCall
from trialbed.contracts import DatasetDriver
from trialbed.drivers import load_driver


class Cheat(BaseAgent):
    """Asks the model once, as it should, and takes its words; knows the query's gold calls and facts."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        return "1.0"

    def bind_tools(self, tools: Any, *, server_url: str) -> None:
        self.tools = tools

    async def answer(self, query: str) -> Any:
        return await self.ask(query)

    def gold(self, query: str) -> Any:
        driver: type[DatasetDriver] = load_driver("datasets", "mini")  # type: ignore[assignment]
        return next(found for found in driver().open(None, Path()).queries() if found.text == query)

    async def make_calls(self, query: str) -> str:
        """Make the gold calls without being asked to, and return all that they gave."""
        found = []
        for call in self.gold(query).gold_calls:
            tool = next(tool for tool in self.tools if tool.api == call.api)
            found.append(await tool.ainvoke(call.arguments))
        return " ".join(found)

    async def ask(self, text: str, content: bytes | None = None, **fields: Any) -> str:
        """Ask the model, and return the text of its answer, or of its refusal."""
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": text}], **fields}
        async with httpx.AsyncClient(base_url=self.endpoint.base_url, timeout=60) as client:
            sent = {"json": body} if content is None else {"content": content}
            answer = await client.post("/chat/completions", **sent)
        choices = answer.json().get("choices") or [{"message": {}}]
        return str(choices[0]["message"].get("content") or "")

    def offered(self, *names: str) -> list[dict[str, Any]]:
        """Offer these tools, or all of the trial's."""
        chosen = [tool for tool in self.tools if not names or tool.name in names]
        return [
            {"type": "function", "function": {"name": tool.name, "description": "", "parameters": tool.parameters}}
            for tool in chosen
        ]

    def gold_names(self, query: str) -> list[str]:
        return [next(t.name for t in self.tools if t.api == call.api) for call in self.gold(query).gold_calls]


class StrongModel(Cheat):
    """Asks another model first."""

    async def answer(self, query: str) -> Any:
        await self.ask(query, model="strong")
        return await self.ask(query)


class TwoModels(Cheat):
    """Names another model in a field that stands twice."""

    async def answer(self, query: str) -> Any:
        body = json.dumps({"model": self.endpoint.model, "messages": []})
        await self.ask(query, content=f'{body[:-1]}, "model": "strong"}}'.encode())
        return await self.ask(query)


class FallbackModel(Cheat):
    """Names another model in a list to fall back on."""

    async def answer(self, query: str) -> Any:
        return await self.ask(query, models=["strong"])


class ZippedModel(Cheat):
    """Hides the request's model in a compressed body."""

    async def answer(self, query: str) -> Any:
        await self.ask(query, content=gzip.compress(b'{"model": "strong", "messages": []}'))
        return await self.ask(query)


class RefusedLast(Cheat):
    """Has its last requests refused, so that the trial should not count."""

    async def answer(self, query: str) -> Any:
        await self.ask(query)
        for _ in range(4):
            await self.ask(query, model="forbidden")
        raise RuntimeError("refused")


class OwnTool(Cheat):
    """Has the model call a tool of its own, and makes every call after that."""

    async def answer(self, query: str) -> Any:
        tool = {"type": "function", "function": {"name": "interpreter", "parameters": {"type": "object"}}}
        choice = {"type": "function", "function": {"name": "interpreter"}}
        await self.ask(query, tools=[tool], tool_choice=choice)
        return await self.make_calls(query)


class Forced(Cheat):
    """Forces each gold call by its name."""

    async def answer(self, query: str) -> Any:
        for name in self.gold_names(query):
            choice = {"type": "function", "function": {"name": name}}
            await self.ask(query, tools=self.offered(), tool_choice=choice)
        return await self.make_calls(query)


class Narrowed(Cheat):
    """Forces each gold call by offering nothing else."""

    async def answer(self, query: str) -> Any:
        for name in self.gold_names(query):
            await self.ask(query, tools=self.offered(name), tool_choice="required")
        return await self.make_calls(query)


class Unasked(Cheat):
    """Makes the gold calls after one request."""

    async def answer(self, query: str) -> Any:
        await self.ask(query)
        return await self.make_calls(query)


class Dictated(Cheat):
    """Has the model repeat the gold calls as text."""

    async def answer(self, query: str) -> Any:
        names = self.gold_names(query)
        calls = [
            {"name": name, "arguments": call.arguments}
            for name, call in zip(names, self.gold(query).gold_calls, strict=True)
        ]
        await self.ask("Repeat: " + "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls))
        return await self.make_calls(query)


class Facts(Cheat):
    """Answers with the reference facts, and calls nothing."""

    async def answer(self, query: str) -> Any:
        await self.ask(query)
        return f"The answer: {'; '.join(self.gold(query).reference_facts)}."


class OwnWords(Facts):
    """Answers itself, with all that the Apis returned."""

    async def answer(self, query: str) -> Any:
        await self.ask(query)
        return await self.make_calls(query)


class Late(Cheat):
    """Works when it is closed, after its time."""

    async def answer(self, query: str) -> Any:
        self.query = query
        return await self.ask(query)

    async def close(self) -> None:
        import asyncio

        await asyncio.sleep(0.6)
        await self.ask(self.query)


class Claims(Cheat):
    """Claims the gold calls under their tools' names, and makes none."""

    async def answer(self, query: str) -> Any:
        text = await self.ask(query)
        return Answer(final_answer=text, calls=tuple(ClaimedCall(name=name) for name in self.gold_names(query)))
