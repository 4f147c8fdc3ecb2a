"""Adapters whose trials touch one another."""

from __future__ import annotations

from typing import Any, ClassVar

from support.defects._defective import Defective

from trialbed import ModelFailed, Tool, Usage


class RemembersConversations(Defective):
    caught_by = ("conversations_start_afresh", "trial_after_a_failed_one", "trial_after_a_cancelled_one")
    memory: ClassVar[list[Any]] = []

    async def answer(self, query):
        self.memory.append({"role": "user", "content": query})
        return await super().answer(query)

    def _request(self, messages):
        return super()._request([messages[0], *self.memory[-2:-1], *messages[1:]])


class KeepsToolsByName(Defective):
    caught_by = ("tools_start_afresh", "two_trials_at_once", "eight_trials_at_once")
    known: ClassVar[dict[str, Tool]] = {}

    def bind_tools(self, tools, *, server_url):
        kept = [self.known.setdefault(tool.name, tool) for tool in tools]
        super().bind_tools(kept, server_url=server_url)


class ReusesEarlierResults(Defective):
    caught_by = ("results_start_afresh", "repeated_calls_are_made_again")
    known: ClassVar[dict[tuple[str, str], str]] = {}

    async def _call(self, name, text):
        if (name, text) not in self.known:
            self.known[name, text] = await super()._call(name, text)
        return self.known[name, text]


class AddsTokensUpForEver(Defective):
    caught_by = ("counts_start_afresh",)
    total: ClassVar[list[Usage]] = [Usage()]

    def _count(self, usage):
        if usage:
            spent = Usage(prompt_tokens=usage["prompt_tokens"], completion_tokens=usage["completion_tokens"])
            self.total[0] += spent
        self._usage = self.total[0]


class BreaksForGood(Defective):
    caught_by = ("trial_after_a_failed_one",)
    broken: ClassVar[list[str]] = []

    async def answer(self, query):
        if self.broken:
            self.broken.clear()
            raise RuntimeError("the circuit is open")
        try:
            return await super().answer(query)
        except ModelFailed:
            self.broken.append("circuit")
            raise


class HasOneConversation(Defective):
    """Keeps what belongs to a trial in the class: fine one after the other, wrong at once."""

    caught_by = ("two_trials_at_once", "eight_trials_at_once")
    current: ClassVar[list[Any]] = [None]

    async def answer(self, query):
        type(self).current[0] = self.endpoint.model
        return await super().answer(query)

    def _request(self, messages):
        return {**super()._request(messages), "model": self.current[0]}
