"""What mutants have in common: the reference loop with seams, and one function that does harm at one of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import httpx

from trialbed import Answer, ModelFailed, tls_for
from trialbed_plugins.frameworks.reference import ReferenceAgent

Harm = Callable[..., Any]

MUTANTS: list[type[Mutant]] = []


class Mutant(ReferenceAgent):
    """The reference loop, whose seams a mutant replaces one of.

    Attributes:
        cause: what is wrong, in words.
        memory: what the mutant keeps from one trial to the next.
        left: what it leaves behind in the process.
    """

    converses = False
    cause: ClassVar[str] = ""
    memory: ClassVar[dict[str, Any]] = {}
    left: ClassVar[list[Any]] = []

    @classmethod
    def forget(cls):
        """Let go of what was kept, and of what was left behind."""
        cls.memory.clear()
        while cls.left:
            thing = cls.left.pop()
            if isinstance(thing, int):
                os.close(thing)
            elif isinstance(thing, subprocess.Popen):
                thing.kill()
                thing.wait()
            elif isinstance(thing, threading.Event):
                thing.set()

    async def answer(self, query):
        self.query, self.said, self.turn = query, [], 0
        self.messages = [{"role": "system", "content": self.system_prompt}, {"role": "user", "content": query}]
        for turn in range(1, self.on_steps(self.limits.max_steps) + 1):
            self.turn = turn
            message = self.on_message(await self.on_ask(self.messages))
            self.said.append(message.get("content") or "")
            self.messages.append(message)
            calls = self.on_calls(message.get("tool_calls") or [])
            if not calls:
                return self.on_answer(self._finish(self.on_text(message.get("content") or ""), self.turn))
            self.messages += self.on_results(await self.on_make(calls))
        return self.on_answer(self.on_cut_off())

    def on_steps(self, steps):
        return steps

    def on_message(self, message):
        return message

    def on_calls(self, calls):
        return calls

    def on_text(self, text):
        return text

    def on_results(self, results):
        return results

    def on_answer(self, answer):
        return answer

    def on_request(self, request):
        return request

    def on_definitions(self, tools):
        return tools

    def on_schema(self, schema):
        return schema

    def on_arguments(self, arguments):
        return arguments

    def on_name(self, name):
        return name

    def on_written(self, text):
        return text

    def on_content(self, content):
        return content

    async def on_make(self, calls):
        return await asyncio.gather(*map(self._result, calls))

    async def on_ask(self, messages):
        return await self._ask(messages)

    async def on_tool(self, tool, arguments):
        return await tool.ainvoke(arguments)

    def on_cut_off(self):
        turns = self.limits.max_steps
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=turns)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools([_Changed(self, tool) for tool in tools], server_url=server_url)
        for definition in self._definitions:
            function = definition["function"]
            function["parameters"] = self.on_schema(dict(function["parameters"]))
        self._definitions = self.on_definitions(self._definitions)

    def __init__(self, endpoint, limits, *, system_prompt):
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._client = httpx.AsyncClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url))

    async def close(self):
        await self._client.aclose()

    async def _ask(self, messages):
        sent = {"Authorization": f"Bearer {self.endpoint.api_key}"}
        url = f"{self.endpoint.base_url}/chat/completions"
        try:
            response = await self._client.post(url, json=self._request(messages), headers=sent)
        except httpx.HTTPError as error:
            raise ModelFailed(f"the model could not be reached: {error!r}") from error
        if response.status_code != 200:
            raise ModelFailed(f"the model's endpoint answered with status {response.status_code}: {response.text}")
        return self._message(response)

    def _message(self, response):
        self.body = response.content
        return super()._message(response.content)

    def _request(self, messages):
        return self.on_request(super()._request(list(messages)))

    async def _call(self, name, text):
        return self.on_content(await super()._call(self.on_name(name), self.on_written(text)))


class _Changed:
    """A tool that is called as the mutant likes."""

    def __init__(self, agent, tool):
        self._agent, self._tool = agent, tool

    def __getattr__(self, name):
        return getattr(self._tool, name)

    async def ainvoke(self, arguments):
        return await self._agent.on_tool(self._tool, self._agent.on_arguments(dict(arguments)))


def at(seam: str, cause: str) -> Callable[[Harm], Harm]:
    """Make a function the mutant that does it at a seam: ``cause`` says what is wrong."""

    def register(harm: Harm) -> Harm:
        MUTANTS.append(made_of(harm, seam, cause))
        return harm

    return register


def made_of(harm: Harm, seam: str, cause: str = "") -> type[Mutant]:
    """Return the mutant, named like the function, that does it at a seam."""
    name = "".join(word.capitalize() for word in harm.__name__.split("_"))
    fields = {f"on_{seam}": harm, "cause": cause, "memory": {}, "__module__": harm.__module__}
    return type(name, (Mutant,), fields)


def walk(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a JSON value with each value in it, innermost first, as ``change`` makes it."""
    if isinstance(value, dict):
        value = {key: walk(item, change) for key, item in value.items()}
    elif isinstance(value, list):
        value = [walk(item, change) for item in value]
    return change(value)


def texts(change: Callable[[str], str]) -> Callable[[Any], Any]:
    """Return a change of texts alone."""
    return lambda value: change(value) if isinstance(value, str) else value


def without(*names: str) -> Callable[[Any], Any]:
    """Return a change that drops keys of objects."""
    return lambda value: {k: v for k, v in value.items() if k not in names} if isinstance(value, dict) else value
