"""Adapters that go wrong in the loop of turns and calls."""

from __future__ import annotations

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


class MakesCallsTwice(Turn):
    caught_by = ("single_call", "repeated_calls_are_made_again", "slow_tool", "sequential_calls")

    async def make(self, calls):
        await super().make(calls)
        return await super().make(calls)


class MakesOneCallPerTurn(Turn):
    caught_by = ("parallel_calls", "many_calls_in_one_turn", "valid_calls_beside_invalid_ones")

    async def make(self, calls):
        return await super().make(calls[:1])
