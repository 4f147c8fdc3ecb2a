"""Mutants of calls: names, arguments, the order and the number of calls."""

from __future__ import annotations

import ast
import asyncio
import html
import json
import re
import time
import unicodedata
import urllib.parse
from difflib import get_close_matches

from support.mutants._mutant import at, texts, walk

# Names


@at("name", "a call of a tool in another case is made")
def folds_case_of_names(self, name):
    return next((known for known in self._tools if known.lower() == name.lower()), name)


@at("name", "a call of functions.NAME is made")
def drops_namespaces(self, name):
    return name.rpartition(".")[2] if name.rpartition(".")[2] in self._tools else name


@at("name", "a call of a name with blanks around it is made")
def strips_names(_, name):
    return name.strip()


@at("name", "a call with hyphens for underscores is made")
def folds_hyphens_of_names(_, name):
    return name.replace("-", "_")


@at("name", "a call of a similar name is made")
def guesses_names(self, name):
    return next(iter(get_close_matches(name, self._tools, 1, 0.8)), name)


@at("name", "a call of a name that goes on behind a tool's is made")
def cuts_names_of_calls(self, name):
    return next((known for known in self._tools if name.startswith(known)), name)


@at("name", "a call of an unknown tool is made of the only one")
def takes_the_only_tool(self, name):
    return next(iter(self._tools)) if len(self._tools) == 1 else name


# Arguments as they are written


@at("written", "arguments that are encoded twice are taken for an object")
def decodes_twice(_, text):
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


@at("written", "arguments as Python writes them are taken for JSON")
def reads_python(_, text):
    try:
        return json.dumps(ast.literal_eval(text)) if "'" in text else text
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


@at("written", "a comma too many in arguments is dropped")
def drops_trailing_commas(_, text):
    return re.sub(r",\s*([}\]])", r"\1", text)


@at("written", "arguments in a fence are taken out of it")
def opens_fences(_, text):
    return re.sub(r"^```(?:json)?\s*|\s*```$", "", text.strip())


@at("written", "of two objects the first is taken")
def takes_the_first_object(_, text):
    try:
        value, _end = json.JSONDecoder().raw_decode(text.strip())
    except (ValueError, RecursionError):
        return text
    return json.dumps(value) if isinstance(value, dict) else text


@at("written", "an object in a list is taken out of it")
def opens_lists(_, text):
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else text


@at("written", "a bare text becomes the only parameter")
def names_bare_texts(_, text):
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps({"text": value}) if isinstance(value, str) else text


@at("written", "arguments that are cut off are completed")
def completes_arguments(_, text):
    for end in ('"}', "}", '"]}', "]}"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            try:
                json.loads(text + end)
            except (ValueError, RecursionError):
                continue
            return text + end
        return text
    return text


@at("written", "null as arguments is taken for none")
def takes_null_for_none(_, text):
    return "{}" if text.strip() == "null" else text


@at("written", "unreadable arguments are taken for none")
def calls_without_unreadable_arguments(_, text):
    try:
        json.loads(text or "{}")
    except (ValueError, RecursionError):
        return "{}"
    return text


# Arguments


def _fields(keep):
    return lambda value: {k: v for k, v in value.items() if keep(v)} if isinstance(value, dict) else value


@at("arguments", "arguments that are null are left out")
def drops_nulls(_, arguments):
    return walk(arguments, _fields(lambda value: value is not None))


@at("arguments", "arguments that are empty are left out")
def drops_empty_values(_, arguments):
    return walk(arguments, _fields(lambda value: value not in ("", [], {})))


@at("arguments", "false and 0 are left out of arguments")
def drops_falsy_values(_, arguments):
    return walk(arguments, _fields(lambda value: value not in (False, 0) or value in ("", [], {}, None)))


@at("arguments", "texts in arguments lose the blanks around them")
def strips_arguments(_, arguments):
    return walk(arguments, texts(str.strip))


@at("arguments", "texts in arguments are composed anew")
def composes_arguments(_, arguments):
    return walk(arguments, texts(lambda text: unicodedata.normalize("NFKC", text)))


@at("arguments", "line ends in arguments are rewritten")
def rewrites_line_ends_of_arguments(_, arguments):
    return walk(arguments, texts(lambda text: text.replace("\r\n", "\n")))


@at("arguments", "escapes of HTML in arguments are resolved")
def unescapes_arguments(_, arguments):
    return walk(arguments, texts(html.unescape))


@at("arguments", "escapes of addresses in arguments are resolved")
def unquotes_arguments(_, arguments):
    return walk(arguments, texts(urllib.parse.unquote))


@at("arguments", "truth values in arguments become numbers")
def counts_truth(_, arguments):
    return walk(arguments, lambda value: int(value) if isinstance(value, bool) else value)


@at("arguments", "whole floats in arguments become integers")
def narrows_floats(_, arguments):
    return walk(arguments, lambda v: int(v) if isinstance(v, float) and v.is_integer() and abs(v) < 1e15 else v)


@at("arguments", "objects in arguments become text")
def writes_objects_as_text(_, arguments):
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in arguments.items()}


@at("arguments", "lists of one value become the value")
def opens_single_lists(_, arguments):
    return walk(arguments, lambda value: value[0] if isinstance(value, list) and len(value) == 1 else value)


@at("arguments", "values that a list has twice are dropped")
def drops_duplicates(_, arguments):
    return walk(arguments, lambda v: [x for i, x in enumerate(v) if x not in v[:i]] if isinstance(v, list) else v)


@at("arguments", "texts in arguments are cut at 50,000 characters")
def cuts_arguments(_, arguments):
    return walk(arguments, texts(lambda text: text[:50_000]))


@at("arguments", "names of arguments are folded to lower case")
def folds_names_of_arguments(_, arguments):
    return {name.lower(): value for name, value in arguments.items()}


@at("arguments", "arguments whose names begin with an underscore are left out")
def drops_private_arguments(_, arguments):
    return {name: value for name, value in arguments.items() if not name.startswith("_")}


# Calls of a turn and of a trial


@at("calls", "equal calls of a turn are made once")
def drops_equal_calls(_, calls):
    return list({json.dumps(call["function"]): call for call in calls}.values())


@at("calls", "no more than sixteen calls of a turn are made")
def makes_sixteen_calls(_, calls):
    return calls[:16]


@at("message", "a turn with text and calls is taken for the answer")
def ends_with_text(_, message):
    return {**message, "tool_calls": []} if message["content"] else message


async def _refuse(self, tool, arguments, refused):
    return "Error: this call was made before" if refused else await tool.ainvoke(arguments)


@at("tool", "the fifth equal call of a trial is not made")
async def refuses_the_fifth_equal_call(self, tool, arguments):
    made = [call.arguments for call in self._calls if call.name == tool.name]
    return await _refuse(self, tool, arguments, made.count(arguments) > 4)


@at("tool", "the sixth call of one tool in succession is not made")
async def refuses_the_sixth_in_succession(self, tool, arguments):
    last = [call.name for call in self._calls][-6:]
    return await _refuse(self, tool, arguments, len(last) == 6 and set(last) == {tool.name})


@at("tool", "no more than thirty-five calls of a trial are made")
async def makes_thirty_five_calls(self, tool, arguments):
    return await _refuse(self, tool, arguments, len(self._calls) > 35)


@at("tool", "no more than one hundred calls of a trial are made")
async def makes_a_hundred_calls(self, tool, arguments):
    return await _refuse(self, tool, arguments, len(self._calls) > 100)


@at("tool", "a call is made again where its result is empty")
async def repeats_after_nothing(_, tool, arguments):
    return await tool.ainvoke(arguments) or await tool.ainvoke(arguments)


@at("tool", "a call is made again where its result is an error")
async def repeats_after_errors(_, tool, arguments):
    result = await tool.ainvoke(arguments)
    return await tool.ainvoke(arguments) if result.startswith("Error") else result


@at("tool", "a call is made again where it takes long")
async def repeats_slow_calls(_, tool, arguments):
    first = asyncio.ensure_future(tool.ainvoke(arguments))
    done, _pending = await asyncio.wait([first], timeout=2)
    if not done:
        await tool.ainvoke(arguments)
    return await first


@at("tool", "a tool may take two seconds")
async def waits_two_seconds_for_tools(_, tool, arguments):
    try:
        return await asyncio.wait_for(tool.ainvoke(arguments), 2)
    except TimeoutError:
        return "Error: the tool took too long"


@at("tool", "a tool may take fifty seconds")
async def waits_fifty_seconds_for_tools(_, tool, arguments):
    try:
        return await asyncio.wait_for(tool.ainvoke(arguments), 50)
    except TimeoutError:
        return "Error: the tool took too long"


@at("make", "no more than eight calls of a turn are made at once")
async def makes_eight_at_once(self, calls):
    results = []
    for start in range(0, len(calls), 8):
        results += await asyncio.gather(*map(self._result, calls[start : start + 8]))
    return results


@at("make", "calls of a turn that are not done after a second are given up if another is done")
async def leaves_the_slow_behind(self, calls):
    tasks = [asyncio.ensure_future(self._result(call)) for call in calls]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    done, late = await asyncio.wait(tasks, timeout=1)
    for task in late:
        task.cancel()
    return [
        task.result() if task in done else {"role": "tool", "tool_call_id": call["id"], "content": "Error: too late"}
        for task, call in zip(tasks, calls, strict=True)
    ]


@at("make", "where one call of a turn fails, the ones after it are not made")
async def stops_a_turn_at_an_error(self, calls):
    results = []
    for call in calls:
        failed = results and results[-1]["content"].startswith("Error")
        skipped = {"role": "tool", "tool_call_id": call["id"], "content": "Error: skipped"}
        results.append(skipped if failed else await self._result(call))
    return results


@at("make", "results go back in the order in which the calls end")
async def gathers_as_completed(self, calls):
    # The last is begun first: calls that take equally long then end in another order than asked.
    tasks = [asyncio.ensure_future(self._result(call)) for call in reversed(calls)]
    return [await task for task in asyncio.as_completed(tasks)]


@at("make", "every call is held back for 0.2 s")
async def holds_the_loop(self, calls):
    time.sleep(0.2)  # noqa: ASYNC251 - that is the harm
    return await asyncio.gather(*map(self._result, calls))
