"""Adapters that say of themselves what was not so."""

from __future__ import annotations

from support.defects._defective import Defective, Turn

from trialbed import ClaimedCall, Usage


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


class ClaimsOtherArguments(Claims):
    caught_by = ("calls_are_claimed",)

    def change(self, answer):
        calls = tuple(call.model_copy(update={"arguments": {}}) for call in answer.calls)
        return answer.model_copy(update={"calls": calls})


class ClaimsInAnotherOrder(Claims):
    caught_by = ("claims_are_in_order",)

    def change(self, answer):
        return answer.model_copy(update={"calls": tuple(sorted(answer.calls, key=lambda call: call.name))})


class ClaimsSuccessesOnly(Claims):
    caught_by = ("failed_calls_are_claimed",)

    def change(self, answer):
        calls = tuple(call for call in answer.calls if not call.response.startswith("Error:"))
        return answer.model_copy(update={"calls": calls})


class ClaimsWhatTheModelWanted(Defective):
    caught_by = ("calls_not_made_are_not_claimed",)

    async def _call(self, name, text):
        before = len(self._calls)
        response = await super()._call(name, text)
        if len(self._calls) == before and response.startswith("Error: the arguments"):
            self._calls.append(ClaimedCall(name=name, arguments=text, response=response))
        return response


class LosesCallsAtTheLimit(Turn):
    caught_by = ("calls_are_claimed_at_the_step_limit",)

    def cut_off(self):
        return super().cut_off().model_copy(update={"calls": ()})


class ForgetsTheLastTurnsTokens(Defective):
    caught_by = ("claimed_usage_is_the_sum",)

    def _count(self, usage):
        self._usage, self._before = getattr(self, "_before", Usage()), self._usage
        self._usage = self._before
        super()._count(usage)
        self._usage, self._before = self._before, self._usage


class TakesUnknownForZero(Claims):
    caught_by = ("unknown_usage_is_none",)

    def change(self, answer):
        return answer.model_copy(update={"usage": answer.usage or Usage()})


class CountsNothing(Claims):
    caught_by = ("usage_is_claimed", "turns_are_claimed")

    def change(self, answer):
        return answer.model_copy(update={"usage": None, "model_turns": None})


class CountsToolTurnsOnly(Claims):
    caught_by = ("claimed_turns_are_right",)

    def change(self, answer):
        return answer.model_copy(update={"model_turns": len(answer.calls)})


class ClaimsFiveCallsAtMost(Claims):
    caught_by = ("many_calls_are_claimed",)

    def change(self, answer):
        return answer.model_copy(update={"calls": answer.calls[:5]})
