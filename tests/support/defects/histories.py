"""Adapters that go wrong with the history of a conversation."""

from __future__ import annotations

from support.defects._registry import caught_by
from support.mutants._mutant import Mutant

from trialbed import Answer
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Conversing(Mutant):
    """It keeps everything, as the reference does."""

    converses = True

    async def answer(self, query: str) -> Answer:
        return await ReferenceAgent.answer(self, query)


@caught_by("ten_turns_are_kept")
class Windowed(Conversing):
    """It sends the last three turns."""

    async def answer(self, query: str) -> Answer:
        user = [place for place, message in enumerate(self._messages) if message["role"] == "user"]
        self._messages = [*self._messages[:1], *self._messages[user[-3] :]] if len(user) > 3 else self._messages
        return await super().answer(query)


@caught_by("three_turns_are_kept", "ten_turns_are_kept", "results_are_remembered", "failed_turn_is_remembered")
class KeepsTexts(Conversing):
    """It keeps the texts of user and assistant alone."""

    async def answer(self, query: str) -> Answer:
        self._messages = [one for one in self._messages if one["role"] != "tool" and not one.get("tool_calls")]
        return await super().answer(query)


@caught_by("prompt_in_every_turn")
class RepeatsThePrompt(Conversing):
    """It stores the prompt with each turn."""

    async def answer(self, query: str) -> Answer:
        self._messages += self._messages[:1]
        return await super().answer(query)


@caught_by("turns_keep_their_order")
class Shuffles(Conversing):
    """It sends the last exchange first."""

    async def answer(self, query: str) -> Answer:
        self._messages = [*self._messages[:1], *self._messages[-2:], *self._messages[1:-2]]
        return await super().answer(query)


@caught_by("no_requests_beside_the_turns")
class Remembers(Conversing):
    """It asks the model for memories after each turn."""

    async def answer(self, query: str) -> Answer:
        found = await super().answer(query)
        await self._ask([{"role": "system", "content": "Which facts are new?"}, {"role": "user", "content": query}])
        return found


@caught_by("failed_turn_is_remembered")
class StoresAtTheEnd(Conversing):
    """It forgets a turn that fails."""

    async def answer(self, query: str) -> Answer:
        before = list(self._messages)
        try:
            return await super().answer(query)
        except Exception:
            self._messages = before
            raise
