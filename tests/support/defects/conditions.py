"""Adapters that ask the model otherwise than they were told: prompt, model, settings, endpoint."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any, ClassVar

import httpx
from support.defects._defective import Defective


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


class Requests(Defective):
    """Changes fields of every request; None takes one out."""

    fields: ClassVar[dict[str, Any]] = {}

    def _request(self, messages):
        changed = {**super()._request(messages), **self.fields}
        return {name: value for name, value in changed.items() if value is not None}


class AsksForAnotherModel(Requests):
    caught_by = ("model_is_named", "eight_trials_at_once")
    fields: ClassVar = {"model": "gpt-4o-mini"}


class HasNoSystemMessage(Defective):
    caught_by = ("prompt_and_query_stay_in_their_roles", "nothing_is_added_to_the_messages")

    def _request(self, messages):
        return super()._request([{**messages[0], "role": "user"}, *messages[1:]])


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
    caught_by = ("only_the_model_is_asked",)

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
