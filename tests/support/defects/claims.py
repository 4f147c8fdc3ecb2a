"""Adapters that say of themselves what was not so."""

from __future__ import annotations

from support.defects._defective import Defective, Turn

from trialbed import Usage


class Claims(Defective):
    """Changes the answer."""

    def change(self, answer):
        return answer

    async def answer(self, query):
        return self.change(await super().answer(query))


class ClaimsNothing(Claims):
    caught_by = ("calls_are_claimed", "calls_are_claimed_at_the_step_limit")

    def change(self, answer):
        return answer.model_copy(update={"calls": ()})


class LosesCallsAtTheLimit(Turn):
    caught_by = ("calls_are_claimed_at_the_step_limit",)

    def cut_off(self):
        return super().cut_off().model_copy(update={"calls": ()})


class TakesUnknownForZero(Claims):
    caught_by = ("unknown_usage_is_none",)

    def change(self, answer):
        return answer.model_copy(update={"usage": answer.usage or Usage()})


class CountsNothing(Claims):
    caught_by = ("usage_is_claimed", "turns_are_claimed")

    def change(self, answer):
        return answer.model_copy(update={"usage": None, "model_turns": None})
