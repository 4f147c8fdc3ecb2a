"""Adapters that make the wrong thing of a fault of tools or of the model."""

from __future__ import annotations

import asyncio
import contextlib
import json

from support.defects._defective import Defective, Turn

from trialbed import ModelFailed


class RaisesToolErrors(Defective):
    caught_by = ("tool_error_goes_to_the_model", "broken_api_goes_to_the_model")

    async def _call(self, name, text):
        response = await super()._call(name, text)
        if response.startswith("Error:"):
            raise RuntimeError(response)
        return response


class HidesToolErrors(Defective):
    caught_by = ("tool_error_goes_to_the_model", "broken_api_goes_to_the_model")

    async def _call(self, name, text):
        response = await super()._call(name, text)
        return "The tool failed." if response.startswith("Error:") else response


class RetriesTools(Defective):
    caught_by = ("broken_api_goes_to_the_model",)

    async def _call(self, name, text):
        response = await super()._call(name, text)
        return await super()._call(name, text) if "status 500" in response else response


class HasNoPatience(Defective):
    caught_by = ("slow_tool",)

    async def _call(self, name, text):
        try:
            async with asyncio.timeout(0.2):
                return await super()._call(name, text)
        except TimeoutError:
            return "Error: the tool took too long"


class RaisesOnBadJson(Defective):
    caught_by = ("bad_json_goes_back", "valid_calls_beside_invalid_ones")

    async def _call(self, name, text):
        json.loads(text or "{}")
        return await super()._call(name, text)


class EndsSilentlyOnBadJson(Turn):
    caught_by = ("bad_json_goes_back",)

    async def answer(self, query):
        try:
            return await super().answer(query)
        except ValueError:
            return self.cut_off()

    async def make(self, calls):
        for call in calls:
            json.loads(call["function"]["arguments"] or "{}")
        return await super().make(calls)


class SplitsWhatIsNoObject(Defective):
    caught_by = ("arguments_that_are_no_object_go_back",)

    async def _call(self, name, text):
        with contextlib.suppress(json.JSONDecodeError):
            dict(**(json.loads(text or "{}")))
        return await super()._call(name, text)


class AnswersWithTheError(Defective):
    caught_by = (
        "model_errors_fail_the_trial",
        "model_error_after_calls",
        "unreachable_model_fails_the_trial",
        "response_without_choices_fails_the_trial",
        "response_that_is_no_json_fails_the_trial",
    )

    async def answer(self, query):
        try:
            return await super().answer(query)
        except ModelFailed as failed:
            return self._finish(str(failed), 1)


class RetriesTheModel(Defective):
    caught_by = ("model_errors_are_not_retried",)

    async def _ask(self, messages):
        try:
            return await super()._ask(messages)
        except ModelFailed:
            return await super()._ask(messages)


class SaysLittleOfErrors(Defective):
    caught_by = ("model_errors_are_named",)

    async def _ask(self, messages):
        try:
            return await super()._ask(messages)
        except ModelFailed:
            raise ModelFailed("the request failed") from None


class TakesNothingForAnAnswer(Defective):
    caught_by = ("empty_answer_is_unfinished",)

    def _finish(self, text, turns):
        return super()._finish(text, turns).model_copy(update={"finish": "give_answer"})


class NeverGivesUp(Defective):
    caught_by = ("giving_up",)

    def _finish(self, text, turns):
        answer = super()._finish(text, turns)
        return answer.model_copy(update={"finish": "give_answer" if answer.finish else None})


class NeedsTokens(Defective):
    caught_by = ("missing_usage_is_no_error",)

    def _count(self, usage):
        if not usage:
            raise RuntimeError("the completion has no usage")
        super()._count(usage)


class RaisesWhereNothingIsLeftToSay(Defective):
    caught_by = ("empty_answer_that_was_cut_off_is_unfinished",)

    def _message(self, response):
        if response.json()["choices"][0]["finish_reason"] in ("length", "content_filter"):
            raise RuntimeError("the completion was cut off")
        return super()._message(response)
