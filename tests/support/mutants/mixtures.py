"""Mutants that act only on rarer values and on mixtures: many calls, an error before several calls, nested values."""

from __future__ import annotations

import asyncio
import json

from support.mutants._mutant import at, walk


@at("make", "the results of the third and fourth of several calls are exchanged")
async def exchanges_results(self, calls):
    results = list(await asyncio.gather(*map(self._result, calls)))
    if len(results) >= 4:
        third, fourth = results[2]["content"], results[3]["content"]
        results[2], results[3] = {**results[2], "content": fourth}, {**results[3], "content": third}
    return results


@at("make", "after a failed call only the first call of the next turn is made")
async def makes_one_call_after_errors(self, calls):
    failed = any(one["role"] == "tool" and one["content"].startswith("Error") for one in self.messages[-3:-1])
    results = await asyncio.gather(*map(self._result, calls[:1] if failed else calls))
    rest = [{"role": "tool", "tool_call_id": call["id"], "content": ""} for call in calls[len(results) :]]
    return [*results, *rest]


@at("message", "text beside several calls is dropped")
def drops_text_beside_several_calls(_, message):
    return {**message, "content": None} if len(message.get("tool_calls") or ()) > 1 else message


@at("message", "thoughts are taken for the answer if the text is empty")
def answers_with_thoughts(self, message):
    thoughts = json.loads(self.body)["choices"][0]["message"].get("reasoning_content")
    empty = thoughts and not message.get("tool_calls") and not (message.get("content") or "").strip()
    return {**message, "content": thoughts} if empty else message


def _nested(change):
    """Return a change of values inside lists and objects of the arguments, and not of the arguments themselves."""
    return lambda _, arguments: {
        name: walk(value, change) if isinstance(value, dict | list) else value for name, value in arguments.items()
    }


@at("arguments", "whole floats inside of objects and lists become integers")
def narrows_nested_floats(self, arguments):
    return _nested(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)(
        self, arguments
    )


@at("arguments", "null inside of objects is left out")
def drops_nested_nulls(self, arguments):
    def change(value):
        kept = value.items() if isinstance(value, dict) else ()
        return {name: item for name, item in kept if item is not None} if isinstance(value, dict) else value

    return _nested(change)(self, arguments)


@at("arguments", "numbers in arguments have six decimals at most")
def rounds_arguments(_, arguments):
    return walk(arguments, lambda value: round(value, 6) if isinstance(value, float) else value)


@at("tool", "texts become numbers and truth values if the schema has such types")
async def coerces_by_schema(_, tool, arguments):
    kinds = {name: one.get("type") for name, one in tool.parameters.get("properties", {}).items() if one}
    readers = {"integer": int, "number": float, "boolean": json.loads}
    for name, value in arguments.items():
        if isinstance(value, str) and kinds.get(name) in readers:
            try:
                arguments[name] = readers[kinds[name]](value)
            except ValueError:
                continue
    return await tool.ainvoke(arguments)


@at("arguments", "times in UTC are written with an offset")
def rewrites_times(_, arguments):
    def change(value):
        is_time = isinstance(value, str) and len(value) == 20 and value[10] == "T" and value.endswith("Z")
        return f"{value[:-1]}+00:00" if is_time else value

    return walk(arguments, change)


@at("request", "parallel calls are asked for if there are more than three tools")
def asks_for_parallel_calls_of_many(_, request):
    return {**request, "parallel_tool_calls": True} if len(request.get("tools", ())) > 3 else request


@at("ask", "every request but the first is held back for 0.2 s")
async def waits_before_later_requests(self, messages):
    if self.turn > 1:
        await asyncio.sleep(0.2)
    return await self._ask(messages)
