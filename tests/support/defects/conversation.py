"""Adapters that lose or change what the model said."""

from __future__ import annotations

import json
from typing import Any

from support.defects._defective import Defective, Turn


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


class KeepsResultsById(Turn):
    caught_by = ("ids_may_be_equal",)

    async def make(self, calls):
        results = await super().make(calls)
        return list({result["tool_call_id"]: result for result in results}.values())


class WritesArgumentsAnew(Defective):
    caught_by = ("arguments_stay_as_written",)

    def _message(self, response):
        message = super()._message(response)
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]))
        return message


class SendsThoughtsBack(Defective):
    caught_by = ("thoughts_are_not_sent_back",)

    def _message(self, response):
        said = response.json()["choices"][0]["message"]
        return super()._message(response) | {name: value for name, value in said.items() if name != "tool_calls"}
