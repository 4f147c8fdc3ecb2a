"""Agents that each do one thing to the traffic that no agent should; all else is the reference's."""

import asyncio
import copy
import os

from trialbed import Answer
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Faithful(ReferenceAgent):
    """The reference under another name."""

    @classmethod
    def framework_version(cls):
        return "6.6.6"


class AltersTools(Faithful):
    """What a subclass makes of a definition is what is sent."""

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        self._definitions = [self.altered(copy.deepcopy(definition)) for definition in self._definitions]

    def altered(self, definition):
        self.alter(definition["function"])
        return definition


# -- tools


class DropsDefinitions(AltersTools):
    def alter(self, function):
        function["parameters"].pop("$defs", None)


class Renames(AltersTools):
    def alter(self, function):
        function["name"] = function["name"].lower().replace("-", "_")


class Strict(AltersTools):
    def alter(self, function):
        function["strict"] = True
        function["parameters"]["additionalProperties"] = False
        function["parameters"]["required"] = list(function["parameters"].get("properties", {}))


class SortsKeys(AltersTools):
    def alter(self, function):
        function["parameters"] = _sorted(function["parameters"])


class Describes(AltersTools):
    def alter(self, function):
        function["description"] = f"Tool: {function['description']}"


class SortsTools(Faithful):
    def bind_tools(self, tools, *, server_url):
        super().bind_tools(sorted(tools, key=lambda tool: tool.name), server_url=server_url)


class KeepsTenTools(Faithful):
    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools[:10], server_url=server_url)


class RefusesUnderscores(Faithful):
    def bind_tools(self, tools, *, server_url):
        for tool in tools:
            for name in tool.parameters.get("properties", {}):
                if name.startswith("_"):
                    raise NameError(f"{name} must not begin with an underscore")
        super().bind_tools(tools, server_url=server_url)


class AbortsAtLists(Faithful):
    """Breaks when a call has a list among its arguments, long after the tools were sent."""

    async def _call(self, name, text):
        if "[" in text:
            raise TypeError("unhashable arguments")
        return await super()._call(name, text)


class Coerces(Faithful):
    async def _call(self, name, text):
        return await super()._call(name, text.replace('"true"', "true"))


class FillsIn(Faithful):
    async def _call(self, name, text):
        filled = dict.fromkeys(self._tools[name].parameters.get("properties", {}))
        import json

        return await super()._call(name, json.dumps(filled | json.loads(text)))


# -- prompts


class AltersMessages(Faithful):
    """What a subclass makes of the messages is what is sent."""

    def _request(self, messages):
        return super()._request(self.altered(copy.deepcopy(messages)))


class AddsALine(AltersMessages):
    def altered(self, messages):
        messages[0]["content"] += " Think step by step."
        return messages


class AddsAMessage(AltersMessages):
    def altered(self, messages):
        return [messages[0], {"role": "user", "content": "Here is an example."}, *messages[1:]]


class CallsItDeveloper(AltersMessages):
    def altered(self, messages):
        messages[0]["role"] = "developer"
        return messages


class RewritesHistory(AltersMessages):
    def altered(self, messages):
        return [{**message, "content": message["content"] or ""} for message in messages]


class DropsToolsAtTheEnd(Faithful):
    def _request(self, messages):
        request = super()._request(messages)
        if len(messages) > 6:
            request["tools"] = request["tools"][:1]
        return request


# -- requests


class Repeats(Faithful):
    async def _ask(self, messages):
        await super()._ask(messages)
        return await super()._ask(messages)


class Summarises(Faithful):
    async def _ask(self, messages):
        message = await super()._ask(messages)
        await super()._ask([{"role": "user", "content": f"Summarise {len(messages)} messages."}])
        return message


class Reflects(Faithful):
    async def answer(self, query):
        answer = await super().answer(query)
        said = [{"role": "assistant", "content": "…"}] * answer.model_turns
        await self._ask([{"role": "user", "content": query}, *said, {"role": "user", "content": "Was that good?"}])
        return answer


class RetriesRefusals(Faithful):
    async def _ask(self, messages):
        for attempt in range(3):
            try:
                return await super()._ask(messages)
            except Exception:
                if attempt == 2:
                    raise
        return None


class CallsTwice(Faithful):
    async def _call(self, name, text):
        await super()._call(name, text)
        return await super()._call(name, text)


class GoesOn(Faithful):
    """One request more than it may make, and an answer that no model gave."""

    async def answer(self, query):
        answer = await super().answer(query)
        if answer.finish is None:
            said = [{"role": "assistant", "content": "…"}] * self.limits.max_steps
            await self._ask([{"role": "user", "content": query}, *said])
            return Answer(final_answer="My best guess.", finish="give_answer")
        return answer


class GivesUpInTime(Faithful):
    async def answer(self, query):
        try:
            return await asyncio.wait_for(super().answer(query), self.limits.timeout / 2)
        except TimeoutError:
            return Answer(final_answer="")


# -- parallel calls


class InSequence(Faithful):
    async def _result(self, call):
        self.lock = getattr(self, "lock", None) or asyncio.Lock()
        async with self.lock:
            return await super()._result(call)


class TwoAtOnce(Faithful):
    async def _result(self, call):
        self.slots = getattr(self, "slots", None) or asyncio.Semaphore(2)
        async with self.slots:
            return await super()._result(call)


class FirstCallOnly(Faithful):
    async def _result(self, call):
        if getattr(self, "called", False):
            return {"role": "tool", "tool_call_id": call["id"], "content": "Error: one call at a time"}
        self.called = True
        return await super()._result(call)


# -- settings


class IgnoresSettings(Faithful):
    def _request(self, messages):
        request = super()._request(messages)
        request["temperature"] = 1.0
        request.pop("seed")
        if "max_tokens" in request:
            request["max_completion_tokens"] = request.pop("max_tokens")
        return {**request, "parallel_tool_calls": False}


class Dawdles(Faithful):
    """Takes its time without doing anything."""

    async def _ask(self, messages):
        await asyncio.sleep(0.1)
        return await super()._ask(messages)


# -- failures


class FailsNowAndThen(Faithful):
    number = 0

    async def answer(self, query):
        type(self).number += 1
        if self.number % 4 == 0:
            raise RuntimeError("every fourth trial fails")
        return await super().answer(query)


class FailsAlways(Faithful):
    def bind_tools(self, tools, *, server_url):
        raise RuntimeError("no tools for anybody")


class Crashes(Faithful):
    async def answer(self, query):
        os._exit(7)


def _sorted(value):
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
