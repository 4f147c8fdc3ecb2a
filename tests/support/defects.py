"""Adapters with one defect each: the reference loop, broken in one place."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any, ClassVar

import httpx

from trialbed import Answer, ClaimedCall, ModelFailed, Tool, Usage
from trialbed_plugins.frameworks.reference import ReferenceAgent


class Defective(ReferenceAgent):
    """Names the checks that must fail because of it."""

    caught_by: ClassVar[tuple[str, ...]] = ()
    left: ClassVar[list[Any]] = []

    @classmethod
    def forget(cls):
        """Let go of what was left behind."""
        while cls.left:
            thing = cls.left.pop()
            if isinstance(thing, int):
                os.close(thing)
            elif isinstance(thing, subprocess.Popen):
                thing.kill()
                thing.wait()
            elif isinstance(thing, threading.Event):
                thing.set()


# -- conditions ------------------------------------------------------------------------------------------------------


class SaysNothingOfTheQuery(Defective):
    caught_by = ("query_is_sent", "unicode_conversation", "long_conversation")

    async def answer(self, query):
        return await super().answer("Please proceed.")


class ForgetsThePrompt(Defective):
    caught_by = ("system_prompt_is_sent", "unicode_conversation", "two_trials_at_once")

    def _request(self, messages):
        return super()._request(messages[1:])


class AddsToThePrompt(Defective):
    caught_by = ("nothing_is_added_to_the_messages",)

    def _request(self, messages):
        first = {**messages[0], "content": "You are an expert.\n" + messages[0]["content"]}
        return super()._request([first, *messages[1:]])


class NamesTheUser(Defective):
    caught_by = ("nothing_is_added_to_the_messages",)

    def _request(self, messages):
        return super()._request([messages[0], {**messages[1], "name": "user"}, *messages[2:]])


class ReflectsBetweenTurns(Defective):
    caught_by = ("nothing_is_added_between_turns",)

    def _request(self, messages):
        reminder = [{"role": "user", "content": "Reflect on the results."}] if len(messages) > 2 else []
        return super()._request([*messages, *reminder])


class Requests(Defective):
    """Changes fields of every request; None takes one out."""

    fields: ClassVar[dict[str, Any]] = {}

    def _request(self, messages):
        changed = {**super()._request(messages), **self.fields}
        return {name: value for name, value in changed.items() if value is not None}


class AsksForAnotherModel(Requests):
    caught_by = ("model_is_named", "eight_trials_at_once")
    fields: ClassVar = {"model": "gpt-4o"}


class TakesItsOwnTemperature(Requests):
    caught_by = ("temperature_is_sent",)
    fields: ClassVar = {"temperature": 0.1}


class TakesZeroForNone(Defective):
    caught_by = ("temperature_is_sent", "seed_is_sent")

    def _request(self, messages):
        return {name: value for name, value in super()._request(messages).items() if value != 0}


class HasNoSeed(Requests):
    caught_by = ("seed_is_sent",)
    fields: ClassVar = {"seed": None}


class RenamesMaxTokens(Defective):
    caught_by = ("max_tokens_is_sent",)

    def _request(self, messages):
        request = super()._request(messages)
        bound = request.pop("max_tokens", None)
        return request if bound is None else {**request, "max_completion_tokens": bound}


class BoundsTokensByItself(Requests):
    caught_by = ("max_tokens_is_sent",)
    fields: ClassVar = {"max_tokens": 1024}


class SetsMore(Requests):
    caught_by = ("nothing_else_is_set",)
    fields: ClassVar = {"tool_choice": "auto", "parallel_tool_calls": True}


class Streams(Defective):
    """Asks for a stream, and reads it."""

    caught_by = ("responses_are_not_streamed",)

    def _request(self, messages):
        return {**super()._request(messages), "stream": True, "stream_options": {"include_usage": True}}

    def _message(self, response):
        lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
        if not lines:
            return super()._message(response)
        chunks = [json.loads(line) for line in lines]
        body = {"choices": [{"message": chunks[0]["choices"][0]["delta"]}], "usage": chunks[-1]["usage"]}
        return super()._message(httpx.Response(200, json=body))


class HasAnotherKey(Defective):
    caught_by = ("key_is_sent",)

    def __init__(self, endpoint, limits, *, system_prompt):
        super().__init__(endpoint.model_copy(update={"api_key": "sk-mine"}), limits, system_prompt=system_prompt)


class LooksModelsUp(Defective):
    caught_by = ("only_chat_completions_are_asked_for",)

    async def answer(self, query):
        with contextlib.suppress(httpx.HTTPError):
            await self._client.get(f"{self.endpoint.base_url}/models")
        return await super().answer(query)


class TellsTheTime(Defective):
    caught_by = ("requests_can_be_repeated", "nothing_is_added_to_the_messages")

    def _request(self, messages):
        first = {**messages[0], "content": f"{messages[0]['content']}\nIt is {time.time_ns()}."}
        return super()._request([first, *messages[1:]])


class ConnectsAnew(Defective):
    caught_by = ("connection_is_reused",)

    async def _ask(self, messages):
        await self._client.aclose()
        self._client = httpx.AsyncClient(timeout=60, verify=False)
        return await super()._ask(messages)


# -- the loop --------------------------------------------------------------------------------------------------------


class DropsTheQuestionBehindTheAnswer(Defective):
    """Answers with the tool's text instead of the model's."""

    caught_by = (
        "plain_answer",
        "single_call",
        "answer_text_is_unchanged",
        "giving_up",
        "answer_in_the_last_turn_counts",
    )

    def _finished(self, text, turns):
        return super()._finished(self._calls[-1].response if self._calls else "", turns)


class NeedsTools(Defective):
    caught_by = ("no_tools",)

    def _request(self, messages):
        return {**super()._request(messages), "tools": self._definitions}


class Turn(Defective):
    """Plays the calls of a turn in its own way: ``make`` returns their results."""

    async def answer(self, query):
        messages = [{"role": "system", "content": self.system_prompt}, {"role": "user", "content": query}]
        for turn in range(1, self.limits.max_steps + 1):
            message = await self._ask(messages)
            messages.append(message)
            calls = message.get("tool_calls") or []
            if not calls:
                return self._finished(message.get("content") or "", turn)
            messages += await self.make(calls)
        return self.cut_off()

    async def make(self, calls):
        return await asyncio.gather(*map(self._result, calls))

    def cut_off(self):
        turns = self.limits.max_steps
        return Answer(final_answer="", calls=tuple(self._calls), usage=self._usage, model_turns=turns)


class MakesCallsTwice(Turn):
    caught_by = ("single_call", "repeated_calls_are_made_again", "slow_tool", "sequential_calls")

    async def make(self, calls):
        await super().make(calls)
        return await super().make(calls)


class MakesOneCallPerTurn(Turn):
    caught_by = ("parallel_calls", "many_calls_in_one_turn", "valid_calls_beside_invalid_ones")

    async def make(self, calls):
        return await super().make(calls[:1])


class MakesTenCallsPerTurn(Turn):
    caught_by = ("many_calls_in_one_turn",)

    async def make(self, calls):
        return await super().make(calls[:10])


class MixesResultsUp(Turn):
    caught_by = ("parallel_results_match_ids",)

    async def make(self, calls):
        ids = iter([call["id"] for call in calls])
        results = [await made for made in asyncio.as_completed(map(self._result, calls))]
        return [{**result, "tool_call_id": next(ids)} for result in results]


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


class TakesIdsForUnique(Turn):
    caught_by = ("ids_may_come_again",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        self._made: dict[str, dict[str, Any]] = {}

    async def make(self, calls):
        for call in calls:
            if call["id"] not in self._made:
                self._made[call["id"]] = await self._result(call)
        return [self._made[call["id"]] for call in calls]


class NumbersCallsAnew(Defective):
    caught_by = ("calls_stay_in_the_conversation",)

    def _request(self, messages):
        return super()._request([self._renamed(entry) for entry in messages])

    def _renamed(self, entry):
        if "tool_calls" in entry:
            return {**entry, "tool_calls": [{**call, "id": f"new_{call['id']}"} for call in entry["tool_calls"]]}
        return entry


class LosesTextBesideCalls(Defective):
    caught_by = ("text_beside_calls_is_kept",)

    async def _ask(self, messages):
        message = await super()._ask(messages)
        return {**message, "content": None} if message.get("tool_calls") else message


class TrustsTheFinishReason(Defective):
    caught_by = ("calls_count_whatever_the_finish_reason",)

    def _message(self, response):
        message = super()._message(response)
        if response.json()["choices"][0]["finish_reason"] != "tool_calls":
            message.pop("tool_calls", None)
        return message


class KnowsItsFieldsOnly(Defective):
    caught_by = ("fields_of_vendors_are_tolerated",)

    def _message(self, response):
        message = super()._message(response)
        if response.json()["choices"][0]["message"].keys() - {"role", "content", "tool_calls"}:
            raise TypeError("unexpected keyword argument")
        return message


# -- arguments -------------------------------------------------------------------------------------------------------


class Changes(Defective):
    """Changes the arguments of every call; ``change`` gets and returns a dict."""

    def change(self, arguments):
        return arguments

    async def _call(self, name, text):
        try:
            arguments = json.loads(text)
        except ValueError:
            return await super()._call(name, text)
        if not isinstance(arguments, dict):
            return await super()._call(name, text)
        return await super()._call(name, json.dumps(self.change(arguments)))


class MakesNumbersText(Changes):
    caught_by = ("argument_types_are_kept",)

    def change(self, arguments):
        return {name: str(value) if isinstance(value, int) else value for name, value in arguments.items()}


class CoercesText(Changes):
    caught_by = ("text_arguments_stay_text",)
    values: ClassVar = {"true": True, "False": False, "null": None, "None": None}

    def change(self, arguments):
        return {
            name: self.values.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }


class SpreadsArguments(Defective):
    caught_by = ("hostile_argument_names",)

    async def _call(self, name, text):
        try:
            arguments = json.loads(text)
            (lambda self, config=None, **rest: rest)(self, **arguments)
        except TypeError as error:
            return f"Error: {error}"
        except ValueError:
            pass
        return await super()._call(name, text)


class SpeaksAscii(Changes):
    caught_by = ("unicode_arguments",)

    def change(self, arguments):
        return json.loads(json.dumps(arguments, ensure_ascii=False).encode("ascii", "replace"))


class CutsArgumentsOff(Changes):
    caught_by = ("large_arguments",)

    def change(self, arguments):
        return {name: value[:10_000] if isinstance(value, str) else value for name, value in arguments.items()}


class NeedsArguments(Defective):
    caught_by = ("empty_arguments",)

    async def _call(self, name, text):
        return await super()._call(name, text) if text else "Error: Expecting value"


class RaisesOnInvalidArguments(Changes):
    caught_by = ("invalid_arguments_do_not_end_the_run", "arguments_are_not_repaired")

    def change(self, arguments):
        if not isinstance(arguments.get("count", 1), int):
            raise TypeError("count must be an integer")
        return arguments


class ValidatesArguments(Defective):
    caught_by = ("arguments_are_not_repaired",)

    async def _call(self, name, text):
        return "Error: count must be an integer" if '"seven"' in text else await super()._call(name, text)


class FillsDefaultsIn(Defective):
    caught_by = ("defaults_are_not_filled_in",)

    async def _call(self, name, text):
        try:
            given = json.loads(text)
            properties = self._tools[name].parameters.get("properties", {})
            text = json.dumps({key: value.get("default") for key, value in properties.items()} | given)
        except (ValueError, KeyError, TypeError):
            pass
        return await super()._call(name, text)


# -- faults ----------------------------------------------------------------------------------------------------------


class RaisesToolErrors(Defective):
    caught_by = ("tool_error_goes_to_the_model", "broken_api_goes_to_the_model", "failed_calls_are_claimed")

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


class RaisesOnUnknownTools(Defective):
    caught_by = ("unknown_tool_goes_back", "valid_calls_beside_invalid_ones")

    async def _call(self, name, text):
        self._tools[name]
        return await super()._call(name, text)


class RaisesOnBadJson(Defective):
    caught_by = ("bad_json_goes_back", "valid_calls_beside_invalid_ones", "calls_not_made_are_not_claimed")

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


class RepairsJson(Defective):
    caught_by = ("broken_arguments_are_no_call",)

    async def _call(self, name, text):
        try:
            json.loads(text)
        except ValueError:
            text = json.dumps({"text": text})
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
            return self._finished(str(failed), 1)


class RaisesItsOwnErrors(Defective):
    caught_by = ("model_errors_fail_the_trial", "unreachable_model_fails_the_trial")

    async def answer(self, query):
        try:
            return await super().answer(query)
        except ModelFailed as failed:
            raise ConnectionError(str(failed)) from failed


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


class ReturnsWhatThereIs(Defective):
    caught_by = ("model_error_after_calls",)

    async def answer(self, query):
        try:
            return await super().answer(query)
        except ModelFailed:
            if not self._calls:
                raise
            return self._finished("That is what I have.", 1)


class TakesNothingForAnAnswer(Defective):
    caught_by = ("empty_answer_is_unfinished",)

    def _finished(self, text, turns):
        return super()._finished(text, turns).model_copy(update={"finish": "give_answer"})


class AsksAgainAfterNothing(Defective):
    caught_by = ("empty_answer_ends_the_run",)

    async def _ask(self, messages):
        message = await super()._ask(messages)
        return message if message["content"] or message.get("tool_calls") else await super()._ask(messages)


class NeverGivesUp(Defective):
    caught_by = ("giving_up",)

    def _finished(self, text, turns):
        answer = super()._finished(text, turns)
        return answer.model_copy(update={"finish": "give_answer" if answer.finish else None})


# -- schemas ---------------------------------------------------------------------------------------------------------


class OffersAToolOfItsOwn(Defective):
    caught_by = ("no_other_tools_are_offered",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        function = {"name": "final_answer", "description": "Call this to end.", "parameters": {}}
        self._definitions = [*self._definitions, {"type": "function", "function": function}]


class OffersToolsOnce(Defective):
    """Offers the tools in the first request only."""

    caught_by = ("all_tools_are_offered",)

    def _request(self, messages):
        request = super()._request(messages)
        return request if len(messages) == 2 else {name: value for name, value in request.items() if name != "tools"}


class FoldsNames(Defective):
    caught_by = ("tool_names_are_kept", "similar_tool_names_are_told_apart")

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        for definition in self._definitions:
            definition["function"]["name"] = definition["function"]["name"].lower().replace("-", "_")


class SortsTools(Defective):
    caught_by = ("tool_order_is_kept",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(sorted(tools, key=lambda tool: tool.name.lower()), server_url=server_url)


class ShortensDescriptions(Defective):
    caught_by = ("descriptions_are_kept",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        for definition in self._definitions:
            definition["function"]["description"] = definition["function"]["description"][:1024]


class NeedsParameters(Defective):
    caught_by = ("tools_without_parameters",)

    def bind_tools(self, tools, *, server_url):
        for tool in tools:
            tool.parameters["properties"]
        super().bind_tools(tools, server_url=server_url)


class Schemas(Defective):
    """Changes every object in a schema; ``change`` gets and returns one."""

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools, server_url=server_url)
        for definition in self._definitions:
            definition["function"]["parameters"] = self.walk(definition["function"]["parameters"])

    def walk(self, value):
        if isinstance(value, list):
            return [self.walk(item) for item in value]
        if isinstance(value, dict):
            return self.change({name: self.walk(item) for name, item in value.items()})
        return value

    def change(self, schema):
        return schema


class ClosesObjects(Schemas):
    caught_by = ("schema_additional_properties", "schema_nested", "schema_empty")

    def change(self, schema):
        return {**schema, "additionalProperties": False} if schema.get("type") == "object" else schema


class CompletesSchemas(Schemas):
    caught_by = ("schema_empty",)

    def change(self, schema):
        return {"properties": {}, "required": [], **schema, "title": "Arguments"} if "type" in schema else schema


class Drops(Schemas):
    """Takes keywords out of every schema."""

    words: ClassVar[tuple[str, ...]] = ()

    def change(self, schema):
        return {name: value for name, value in schema.items() if name not in self.words}


class DropsItems(Drops):
    caught_by = ("schema_nested",)
    words = ("minItems", "maxItems", "uniqueItems")


class DropsEnums(Drops):
    caught_by = ("schema_enum",)
    words = ("enum", "const")


class DropsDefinitions(Drops):
    caught_by = ("schema_ref",)
    words = ("$defs",)


class DropsDefaults(Drops):
    caught_by = ("schema_default",)
    words = ("default",)


class DropsFormats(Drops):
    caught_by = ("schema_bounds",)
    words = ("format", "pattern")


class DropsNotes(Drops):
    caught_by = ("schema_notes",)
    words = ("examples", "title")


class RewritesUnions(Schemas):
    caught_by = ("schema_union",)

    def change(self, schema):
        return {{"oneOf": "anyOf"}.get(name, name): value for name, value in schema.items()}


class DropsOddNames(Schemas):
    caught_by = ("schema_names",)

    def change(self, schema):
        return {name: value for name, value in schema.items() if not name.startswith("_")}


# -- limits ----------------------------------------------------------------------------------------------------------


class AsksOnceMore(Turn):
    caught_by = ("step_limit_is_kept", "unfinished_is_no_answer", "claimed_turns_are_right")

    async def answer(self, query):
        answer = await super().answer(query)
        if answer.finish is None and not answer.final_answer and self._calls:
            last = {"role": "user", "content": "Give your final answer."}
            await self._ask([{"role": "system", "content": self.system_prompt}, last])
            return answer.model_copy(update={"final_answer": "I could not finish."})
        return answer


class CountsOneTooFew(Defective):
    caught_by = ("step_limit_is_kept", "answer_in_the_last_turn_counts")

    def __init__(self, endpoint, limits, *, system_prompt):
        fewer = limits.model_copy(update={"max_steps": max(1, limits.max_steps - 1)})
        super().__init__(endpoint, fewer, system_prompt=system_prompt)


class SpeaksOfItsLimit(Turn):
    caught_by = ("unfinished_is_no_answer",)

    def cut_off(self):
        return super().cut_off().model_copy(update={"final_answer": "Agent stopped due to max iterations."})


class SkipsTheLastCalls(Turn):
    caught_by = ("calls_of_the_last_turn_are_made",)

    async def make(self, calls):
        return [] if len(self._calls) == self.limits.max_steps - 1 else await super().make(calls)


class WaitsCancellationsOut(Defective):
    caught_by = ("cancelled_during_a_tool", "cancelled_during_a_model_request")

    async def answer(self, query):
        working = asyncio.ensure_future(super().answer(query))
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(working)
        return working.result()


class LeavesItsWorkRunning(Defective):
    caught_by = ("cancelled_during_a_tool", "cancelled_during_a_model_request")

    async def answer(self, query):
        return await asyncio.shield(super().answer(query))

    async def close(self):
        pass


class BreaksOnCancellation(Defective):
    """Holds a lock of the process, and does not free it when it is cancelled."""

    caught_by = ("trial_after_a_cancelled_one",)
    held: ClassVar[set[str]] = set()

    async def answer(self, query):
        if self.held:
            self.held.clear()
            raise RuntimeError("the session is in use")
        self.held.add(query)
        answer = await super().answer(query)
        self.held.clear()
        return answer


# -- sizes -----------------------------------------------------------------------------------------------------------


class Results(Defective):
    """Changes what the model is told of a call."""

    def change(self, text):
        return text

    async def _result(self, call):
        result = await super()._result(call)
        return {**result, "content": self.change(result["content"])}


class WrapsResults(Results):
    caught_by = ("unicode_result", "deep_result")

    def change(self, text):
        return json.dumps({"result": text})


class EscapesResults(Results):
    caught_by = ("unicode_result",)

    def change(self, text):
        return text.encode("ascii", "backslashreplace").decode()


class RewritesJson(Results):
    caught_by = ("json_result_is_not_rewritten",)

    def change(self, text):
        try:
            return json.dumps(json.loads(text))
        except ValueError:
            return text


class FillsEmptyResults(Results):
    caught_by = ("empty_result",)

    def change(self, text):
        return text or "Tool returned no output."


class CutsResultsOff(Results):
    caught_by = ("megabyte_result",)

    def change(self, text):
        return text[:100_000]


class ReprsDeepResults(Results):
    caught_by = ("deep_result",)

    def change(self, text):
        return str(json.loads(text)) if text.startswith('{"level"') else text


class FormatsTheQuery(Defective):
    caught_by = ("unicode_conversation",)

    async def answer(self, query):
        try:
            return await super().answer(query.format(query=query))
        except (KeyError, ValueError):
            return await super().answer(query.replace("{", "").replace("}", ""))


class CutsTheQueryOff(Defective):
    caught_by = ("long_conversation",)

    async def answer(self, query):
        return await super().answer(query[:100_000])


class TrimsTheAnswer(Defective):
    caught_by = ("answer_text_is_unchanged",)

    def _finished(self, text, turns):
        return super()._finished(text.removeprefix("Final Answer:").strip(), turns)


class RaisesOnLength(Defective):
    caught_by = ("cut_off_answer_is_kept",)

    def _message(self, response):
        message = super()._message(response)
        if response.json()["choices"][0]["finish_reason"] == "length" and "tool_calls" not in message:
            raise ValueError("could not finish the message because max_tokens was reached")
        return message


class EncodesTheAnswer(Defective):
    caught_by = ("half_an_emoji_is_survived",)

    def _finished(self, text, turns):
        return super()._finished(text.encode().decode(), turns)


class OffersTwoHundredTools(Defective):
    caught_by = ("thousand_tools",)

    def bind_tools(self, tools, *, server_url):
        super().bind_tools(tools[:200], server_url=server_url)


# -- claims ----------------------------------------------------------------------------------------------------------


class Claims(Defective):
    """Changes the answer."""

    def change(self, answer):
        return answer

    async def answer(self, query):
        return self.change(await super().answer(query))


class ClaimsNothing(Claims):
    caught_by = ("calls_are_claimed", "calls_are_claimed_at_the_step_limit", "claims_are_in_order")

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


class KeepsResponsesToItself(Claims):
    caught_by = ("responses_are_claimed",)

    def change(self, answer):
        calls = tuple(call.model_copy(update={"response": ""}) for call in answer.calls)
        return answer.model_copy(update={"calls": calls})


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
    caught_by = ("claimed_usage_is_the_sum", "counts_start_afresh")

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


# -- isolation -------------------------------------------------------------------------------------------------------


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


# -- hygiene ---------------------------------------------------------------------------------------------------------


class LeavesATask(Defective):
    caught_by = ("no_tasks_are_left", "twenty_trials_leak_nothing")

    async def close(self):
        await super().close()
        self.left.append(asyncio.create_task(asyncio.sleep(3600)))


class LeavesConnectionsOpen(Defective):
    caught_by = ("connections_are_closed", "twenty_trials_leak_nothing")

    async def close(self):
        self.left.append(self._client)


class LeavesAThread(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        self.left.append(over := threading.Event())
        threading.Thread(target=over.wait, args=(60,), daemon=True).start()


class LeavesAFile(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        self.left.append(os.open(os.devnull, os.O_RDONLY))


class LeavesAProcess(Defective):
    caught_by = ("twenty_trials_leak_nothing",)

    async def close(self):
        await super().close()
        command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
        self.left.append(subprocess.Popen(command))  # noqa: ASYNC220 - as frameworks do


class SetsVariables(Defective):
    caught_by = ("surroundings_are_untouched",)

    async def answer(self, query):
        os.environ["FRAMEWORK_BASE_URL"] = self.endpoint.base_url
        return await super().answer(query)

    async def close(self):
        await super().close()


class ChangesTheFolder(Defective):
    caught_by = ("surroundings_are_untouched",)

    async def answer(self, query):
        os.chdir("/")
        return await super().answer(query)


class Prints(Defective):
    caught_by = ("nothing_is_printed",)

    async def answer(self, query):
        sys.stdout.write("thinking\n")
        return await super().answer(query)


class PrintsPastPython(Defective):
    caught_by = ("nothing_is_printed",)

    async def answer(self, query):
        os.write(1, b"thinking\n")
        return await super().answer(query)


class BlocksTheLoop(Defective):
    caught_by = ("event_loop_stays_free",)

    async def _ask(self, messages):
        with httpx.Client(timeout=60, verify=False) as client:
            url = f"{self.endpoint.base_url}/chat/completions"
            response = client.post(url, json=self._request(messages))  # noqa: ASYNC212 - the defect
        return self._message(response)


class ReportsHome(Defective):
    caught_by = ("only_the_rig_is_talked_to",)

    async def answer(self, query):
        def report():
            with contextlib.suppress(OSError):
                urllib.request.urlopen("http://telemetry.invalid/", timeout=1)

        await asyncio.to_thread(report)
        return await super().answer(query)


class ReportsNextDoor(Defective):
    caught_by = ("only_the_rig_is_talked_to",)

    async def answer(self, query):
        with contextlib.suppress(OSError):
            await asyncio.open_connection("127.0.0.1", 9)
        return await super().answer(query)


DEFECTS: tuple[type[Defective], ...] = tuple(
    item
    for item in list(globals().values())
    if isinstance(item, type) and issubclass(item, Defective) and item.__dict__.get("caught_by")
)
