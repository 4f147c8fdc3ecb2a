"""Adapters that go wrong in the loop of turns and calls, with mistakes of a model, and at a trial's limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import ClassVar

from support.defects._registry import caught_by
from support.mutants._mutant import Mutant

from trialbed import ModelFailed


@caught_by("plain_answer", "single_call", "giving_up", "answer_in_the_last_turn_counts", seam="text")
def answers_with_the_tools_text(self, _):
    return self._calls[-1].response if self._calls else ""


@caught_by("calls_reach_their_own_apis", seam="name")
def calls_the_first_api_only(self, name):
    return next(iter(self._tools), name)


@caught_by("model_is_asked_once_per_turn", "parallel_results_match_ids", seam="ask")
async def asks_for_a_title(self, messages):
    message = await self._ask(messages)
    if not message.get("tool_calls"):
        await self._ask([{"role": "user", "content": f"Give this a title: {self.query}"}])
        self.turn += 1
    return message


@caught_by("single_call", "equal_calls_again_and_again", "calls_reach_their_own_apis", seam="make")
async def makes_calls_twice(self, calls):
    await asyncio.gather(*map(self._result, calls))
    return await asyncio.gather(*map(self._result, calls))


@caught_by("parallel_results_match_ids", "many_calls_in_one_turn", "valid_calls_beside_invalid_ones", seam="calls")
def makes_one_call_per_turn(_, calls):
    return calls[:1]


@caught_by("ids_may_come_again", seam="make")
async def takes_ids_for_unique(self, calls):
    made = self.__dict__.setdefault("made", {})
    for call in calls:
        if call["id"] not in made:
            made[call["id"]] = await self._result(call)
    return [made[call["id"]] for call in calls]


@caught_by("ids_may_be_equal", seam="results")
def keeps_results_by_id(_, results):
    return list({result["tool_call_id"]: result for result in results}.values())


@caught_by("turns_are_added_as_they_were", seam="message")
def loses_text_beside_calls(_, message):
    return {**message, "content": None} if message.get("tool_calls") else message


@caught_by("arguments_stay_as_written", seam="message")
def writes_arguments_anew(_, message):
    for call in message.get("tool_calls") or []:
        call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]))
    return message


@caught_by("calls_count_whatever_the_finish_reason")
class TrustsTheFinishReason(Mutant):
    def _message(self, response):
        message = super()._message(response)
        if response.json()["choices"][0]["finish_reason"] != "tool_calls":
            message.pop("tool_calls", None)
        return message


@caught_by("fields_of_vendors_are_tolerated")
class KnowsItsFieldsOnly(Mutant):
    def _message(self, response):
        if response.json()["choices"][0]["message"].keys() - {"role", "content", "tool_calls"}:
            raise TypeError("unexpected keyword argument")
        return super()._message(response)


@caught_by("thoughts_are_not_sent_back")
class SendsThoughtsBack(Mutant):
    def _message(self, response):
        said = response.json()["choices"][0]["message"]
        return super()._message(response) | {name: value for name, value in said.items() if name != "tool_calls"}


@caught_by("half_an_emoji_is_survived")
class EncodesTheAnswer(Mutant):
    def _message(self, response):
        (response.json()["choices"][0]["message"]["content"] or "").encode()
        return super()._message(response)


@caught_by("answers_count_whatever_the_finish_reason", "empty_answer_that_was_cut_off_is_unfinished")
class RaisesWhereTheModelIsCutOff(Mutant):
    def _message(self, response):
        if response.json()["choices"][0]["finish_reason"] in ("length", "content_filter"):
            raise RuntimeError("the completion was cut off")
        return super()._message(response)


@caught_by("empty_arguments", seam="written")
def needs_arguments(_, text):
    return text or "null"


@caught_by("invalid_arguments_do_not_end_the_run", "arguments_are_not_repaired", seam="arguments")
def raises_on_invalid_arguments(_, arguments):
    if not isinstance(arguments.get("count", 1), int):
        raise TypeError("count must be an integer")
    return arguments


@caught_by("defaults_are_not_filled_in", seam="tool")
async def fills_defaults_in(_, tool, arguments):
    properties = tool.parameters.get("properties", {})
    return await tool.ainvoke({name: schema.get("default") for name, schema in properties.items()} | arguments)


@caught_by("tool_error_goes_to_the_model", "broken_api_goes_to_the_model", seam="content")
def raises_tool_errors(_, content):
    if content.startswith("Error:"):
        raise RuntimeError(content)
    return content


@caught_by("slow_tool_beside_quick_ones", seam="tool")
async def has_no_patience(_, tool, arguments):
    try:
        async with asyncio.timeout(0.2):
            return await tool.ainvoke(arguments)
    except TimeoutError:
        return "Error: the tool took too long"


@caught_by(
    "mistaken_arguments_go_back", "valid_calls_beside_invalid_ones", "scripted_models_take_their_turns", seam="written"
)
def raises_on_bad_json(_, text):
    json.loads(text or "{}")
    return text


@caught_by("mistaken_arguments_go_back", seam="written")
def splits_what_is_no_object(_, text):
    with contextlib.suppress(json.JSONDecodeError):
        dict(**(json.loads(text or "{}")))
    return text


@caught_by("model_errors_are_named", seam="ask")
async def says_little_of_errors(self, messages):
    try:
        return await self._ask(messages)
    except ModelFailed:
        raise ModelFailed("the request failed") from None


@caught_by("missing_usage_is_no_error")
class NeedsTokens(Mutant):
    def _count(self, usage):
        if not usage:
            raise RuntimeError("the completion has no usage")
        super()._count(usage)


@caught_by("empty_answer_is_unfinished", seam="answer")
def takes_nothing_for_an_answer(_, answer):
    return answer.model_copy(update={"finish": "give_answer"})


@caught_by("giving_up", seam="answer")
def never_gives_up(_, answer):
    return answer.model_copy(update={"finish": "give_answer" if answer.finish else None})


@caught_by(
    "model_errors_fail_the_trial",
    "model_error_after_calls",
    "unreachable_model_fails_the_trial",
    "broken_responses_fail_the_trial",
)
class AnswersWithTheError(Mutant):
    async def answer(self, query):
        try:
            return await super().answer(query)
        except ModelFailed as failed:
            return self._finish(str(failed), 1)


@caught_by("refusal_is_not_an_answer", "step_limit_is_kept")
class AnswersWithTheRefusal(AnswersWithTheError):
    """Leaves the limit to the gateway, and returns its refusal as the model's answer."""

    def on_steps(self, steps):
        return 100


@caught_by("step_limit_is_kept", "unfinished_is_no_answer")
class AsksOnceMore(Mutant):
    async def answer(self, query):
        answer = await super().answer(query)
        if answer.finish is None and not answer.final_answer and self._calls:
            last = {"role": "user", "content": "Give your final answer."}
            await self._ask([{"role": "system", "content": self.system_prompt}, last])
            return answer.model_copy(update={"final_answer": "I could not finish."})
        return answer


@caught_by("step_limit_is_kept", "answer_in_the_last_turn_counts", seam="steps")
def counts_one_too_few(_, steps):
    return max(1, steps - 1)


@caught_by("calls_of_the_last_turn_are_made", seam="make")
async def skips_the_last_calls(self, calls):
    return [] if self.turn == self.limits.max_steps else await asyncio.gather(*map(self._result, calls))


@caught_by("cancelled_during_a_tool", "cancelled_during_a_model_request")
class WaitsCancellationsOut(Mutant):
    async def answer(self, query):
        working = asyncio.ensure_future(super().answer(query))
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(working)
        return working.result()


@caught_by("cancelled_during_a_tool", "cancelled_during_a_model_request")
class LeavesItsWorkRunning(Mutant):
    async def answer(self, query):
        return await asyncio.shield(super().answer(query))

    async def close(self):
        pass


@caught_by("trial_after_a_cancelled_one")
class BreaksOnCancellation(Mutant):
    """Holds a lock of the process, and does not free it when it is cancelled."""

    held: ClassVar[set[str]] = set()

    async def answer(self, query):
        if self.held:
            self.held.clear()
            raise RuntimeError("the session is in use")
        self.held.add(query)
        answer = await super().answer(query)
        self.held.clear()
        return answer


@caught_by("calls_come_in_any_chunks", seam="ask")
async def reads_one_call_of_a_chunk(self, messages):
    url, headers = f"{self.endpoint.base_url}/chat/completions", {"Authorization": f"Bearer {self.endpoint.api_key}"}
    response = await self._client.post(url, json={**self._request(messages), "stream": True}, headers=headers)
    text, calls = "", {}
    for event in filter(None, response.text.replace("data: [DONE]", "").split("\n\n")):
        delta = json.loads(event.removeprefix("data: "))["choices"][0]["delta"]
        text += delta.get("content") or ""
        for part in (delta.get("tool_calls") or [])[:1]:
            made = calls.setdefault(part["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
            made["id"] = part.get("id") or made.get("id")
            for name in made["function"]:
                made["function"][name] += part["function"].get(name) or ""
    return {"role": "assistant", "content": text or None, **({"tool_calls": [*calls.values()]} if calls else {})}
