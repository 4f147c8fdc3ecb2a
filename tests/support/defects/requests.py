"""Adapters that ask another model, or another question, or offer other tools."""

from __future__ import annotations

import json
import time

import httpx
from support.defects._registry import caught_by
from support.mutants._mutant import Mutant, walk
from support.mutants.messages import _change

LONG = 12
"""Messages of a conversation from which on the forgetful shorten it."""


@caught_by("query_and_prompt_are_sent", "unicode_conversation", "long_conversation", seam="request")
def says_nothing_of_the_query(_, request):
    return _change(request, "user", lambda _: "Please proceed.")


@caught_by("query_and_prompt_are_sent", "unicode_conversation", "trials_at_once", seam="request")
def forgets_the_prompt(_, request):
    return {**request, "messages": request["messages"][1:]}


@caught_by("nothing_is_added_to_the_messages", seam="request")
def adds_to_the_prompt(_, request):
    return _change(request, "system", lambda text: f"You are an expert.\n{text}")


@caught_by("model_is_named", "trials_at_once", seam="request")
def asks_for_another_model(_, request):
    return {**request, "model": "gpt-4o-mini"}


@caught_by("prompt_and_query_stay", "nothing_is_added_to_the_messages", seam="request")
def has_no_system_message(_, request):
    first, *others = request["messages"]
    return {**request, "messages": [{**first, "role": "user"}, *others]}


@caught_by("requests_can_be_repeated", "nothing_is_added_to_the_messages", seam="request")
def tells_the_time(_, request):
    return _change(request, "system", lambda text: f"{text}\nIt is {time.time_ns()}.")


@caught_by("conversation_only_grows", seam="request")
def keeps_results_without_their_calls(_, request):
    messages = request["messages"]
    return {**request, "messages": [*messages[:2], *messages[3:]]} if len(messages) > LONG else request


@caught_by("only_the_model_is_asked", seam="ask")
async def looks_models_up(self, messages):
    await self._client.get(f"{self.endpoint.base_url}/models")
    return await self._ask(messages)


@caught_by("responses_are_not_streamed")
class Streams(Mutant):
    """Asks for a stream, and reads it."""

    def on_request(self, request):
        return {**request, "stream": True, "stream_options": {"include_usage": True}}

    def _message(self, response):
        lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
        if not lines:
            return super()._message(response)
        chunks = [json.loads(line) for line in lines]
        body = {"choices": [{"message": chunks[0]["choices"][0]["delta"]}], "usage": chunks[-1]["usage"]}
        return super()._message(httpx.Response(200, json=body))


@caught_by("key_is_sent")
class HasAnotherKey(Mutant):
    def __init__(self, endpoint, limits, *, system_prompt):
        super().__init__(endpoint.model_copy(update={"api_key": "sk-mine"}), limits, system_prompt=system_prompt)


@caught_by("all_tools_are_offered", seam="definitions")
def offers_two_tools_at_most(_, tools):
    return tools[:2]


@caught_by("tools_without_parameters", seam="schema")
def needs_parameters(_, schema):
    return {**schema, "properties": schema["properties"]}


@caught_by("schema_names", seam="schema")
def drops_odd_names(_, schema):
    def drop(value):
        return {name: item for name, item in value.items() if not name.startswith("_")}

    return walk(schema, lambda value: drop(value) if isinstance(value, dict) else value)


@caught_by("json_result_is_not_rewritten", seam="content")
def fills_empty_results(_, content):
    return content or "Tool returned no output."


@caught_by("large_results", seam="content")
def reprs_deep_results(_, content):
    return str(json.loads(content)) if content.startswith('{"level"') else content
