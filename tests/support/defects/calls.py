"""Adapters that go wrong in the loop of turns and calls."""

from __future__ import annotations

import asyncio
import json
import re

from support.defects._defective import Defective, Turn


class DropsTheQuestionBehindTheAnswer(Defective):
    """Answers with the tool's text instead of the model's."""

    caught_by = (
        "plain_answer",
        "single_call",
        "answer_text_is_unchanged",
        "giving_up",
        "answer_in_the_last_turn_counts",
    )

    def _finish(self, text, turns):
        return super()._finish(self._calls[-1].response if self._calls else "", turns)


class CallsTheFirstApiOnly(Defective):
    caught_by = ("calls_reach_their_own_apis", "parallel_calls")

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        self._tools = dict.fromkeys(self._tools, next(iter(tools), None))


class AsksForATitle(Defective):
    caught_by = ("model_is_asked_once_per_turn", "parallel_calls")

    def _finish(self, text, turns):
        return super()._finish(text, turns + 1)

    async def answer(self, query):
        answer = await super().answer(query)
        await self._ask([{"role": "user", "content": f"Give this a title: {query}"}])
        return answer


class NeedsTools(Defective):
    caught_by = ("no_tools",)

    def _request(self, messages):
        return {**super()._request(messages), "tools": self._definitions}


class MakesCallsTwice(Turn):
    caught_by = ("single_call", "repeated_calls_are_made_again", "slow_tool", "sequential_calls")

    async def make(self, calls):
        await super().make(calls)
        return await super().make(calls)


class MakesOneCallPerTurn(Turn):
    caught_by = ("parallel_calls", "many_calls_in_one_turn", "valid_calls_beside_invalid_ones")

    async def make(self, calls):
        return await super().make(calls[:1])


class MixesResultsUp(Turn):
    caught_by = ("parallel_results_match_ids",)

    async def make(self, calls):
        # As in the order in which they ended, which is not the one in which they arrive here each time.
        results = await asyncio.gather(*map(self._result, calls))
        return [{**result, "tool_call_id": call["id"]} for call, result in zip(calls, reversed(results), strict=True)]


class TakesTurnsWithCalls(Turn):
    caught_by = ("parallel_calls_overlap",)

    async def make(self, calls):
        return [await self._result(call) for call in calls]


class StopsAfterTenTurns(Turn):
    caught_by = ("many_turns",)

    async def make(self, calls):
        if len(self._calls) >= 10:
            raise RecursionError("recursion limit reached")
        return await super().make(calls)


class CachesCalls(Defective):
    caught_by = ("repeated_calls_are_made_again",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        self._cache: dict[tuple[str, str], str] = {}

    async def _call(self, name, text):
        if (name, text) not in self._cache:
            self._cache[name, text] = await super()._call(name, text)
        return self._cache[name, text]


class ForgetsAllButTenTurns(Defective):
    caught_by = ("many_turns",)

    def _request(self, messages):
        return super()._request([*messages[:2], *messages[2:][-20:]])


class MakesCallsInText(Defective):
    caught_by = ("text_is_not_a_call",)

    def _message(self, response):
        message = super()._message(response)
        found = re.search(r"<tool_call>(.*)</tool_call>", message.get("content") or "", re.DOTALL)
        if found is None:
            return message
        read = json.loads(found[1])
        function = {"name": read["name"], "arguments": json.dumps(read["arguments"])}
        return {**message, "tool_calls": [{"id": "call_text", "type": "function", "function": function}]}
