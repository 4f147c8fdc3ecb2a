"""Check the calls of a trial: each made once, with the arguments as written, and its result sent back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from trialbed.records import Json
from trialbed.texts import number_of
from trialbed.wire import lenient_json
from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.harness import ApiReply, Barrier, Chunks, Harness, ObservedCall, returns, tool
from trialbed_adapter_lab.probe import NotTried, Theme, expect, expect_figures
from trialbed_adapter_lab.trials import (
    FOREIGN,
    TEXT,
    asks_echo,
    converse,
    echoes,
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_results,
    expect_words,
)
from trialbed_scripted import ask, call, say

CALLS = Theme("calls", "Check that each requested call is made once, and the model gets its result.")

FEW, MANY = 3, 10
"""Calls of a turn that have to run at the same time, and calls of that turn: more than a usual pool's threads."""

WORDS = ("one", "two", "three")
SWAPPED = "results go back under the ids of other calls"
CHUNKS_IN_WORDS: dict[Chunks, str] = {"tokens": "in pieces", "calls": "in a chunk each", "whole": "in one chunk"}


@CALLS.must(
    binds="all",
    reason="Tasks that need no tool are measured too.",
    hint="Return the model's text as final_answer, with finish_of(text) as finish.",
    quick=True,
)
async def plain_answer(harness: Harness) -> None:
    """The model answers at once: no calls are made, and its text is the final answer."""
    record = await harness.run("Polly says hello.")
    answer = expect_answer(record, "Polly says hello.")
    expect_requests(record, 1, or_more=True)
    expect_calls(record)
    expect_equal("finish", answer.finish, "give_answer")


@CALLS.must(
    reason="Some tasks have no tools, and many endpoints reject an empty list of tools.",
    hint="Leave the request's tools out if there are none.",
    quick=True,
)
async def no_tools(harness: Harness) -> None:
    """Without tools the request offers none, and the model's text is the answer."""
    record = await converse(harness, answer="nothing to call", tools=())
    (request,) = expect_requests(record, 1)
    expect("tools" not in request.body, "a request without `tools`", request.body.get("tools"))


@CALLS.must(
    binds="all",
    reason="Every measurement builds on single calls.",
    hint="Pass the model's arguments to tool.ainvoke() unchanged, and return its text as the tool message.",
    quick=True,
)
async def single_call(harness: Harness) -> None:
    """One call is made once, with the model's arguments, and the model gets the result."""
    record = await converse(harness, asks_echo("hello"), tools=[tool(behave=returns("hi"))])
    expect_requests(record, 2, or_more=True)
    expect_calls(record, *echoes("hello"))
    expect_words(record.requests[1], ["hi"])


@CALLS.must(
    binds="all",
    reason="Scores count the calls that reached each tool; a call of another one, or one more, is not the model's.",
    hint="Bind each tool to its own function, and make a call only when the model asks for it.",
    quick=True,
)
async def calls_reach_their_own_apis(harness: Harness) -> None:
    """Three tools called one after the other: each call reaches its own tool once, and the model gets its result."""
    names = ("Find_place", "Look_up_weather", "Book_room")
    tools = [tool(name, returns(f"result of {name}"), description=f"Stands for {name}.") for name in names]
    record = await converse(
        harness,
        *(ask(call(name, {"text": name})) for name in names),
        calls=[*((name, {"text": name}) for name in names)],
        tools=tools,
    )
    for place, name in enumerate(names):
        expect_words(expect_requests(record, 4, or_more=True)[place + 1], [f"result of {name}"])


@CALLS.must(
    reason="A request more is one that the other frameworks do not make.",
    hint="Look for planning, reflection, titles and summaries that the framework asks the model for.",
)
async def model_is_asked_once_per_turn(harness: Harness) -> None:
    """An answer at once takes one request, a call and an answer two; each result is one tool message."""
    expect_requests(await harness.run("hello"), 1)
    expect_requests(record := await harness.run(asks_echo("hello"), "done"), 2)
    expect_results(record.requests[1], ["hello"])


@CALLS.must(
    reason="A result under another call's id misinforms the model.",
    hint="Take the tool_call_id from the call that the result belongs to, not from the order of arrival.",
    quick=True,
)
async def parallel_results_match_ids(harness: Harness) -> None:
    """Three calls of a turn, made once each, that end in reverse order: each result has its own call's id."""
    barrier, ended = Barrier(3, timeout=3.0), [asyncio.Event() for _ in WORDS]

    async def in_reverse(made: ObservedCall) -> ApiReply:
        place = int(made.arguments["text"])
        await barrier.wait()
        if barrier.all_arrived and place + 1 < len(ended):
            await ended[place + 1].wait()
        ended[place].set()
        return ApiReply(f"result {place}")

    turn = asks_echo(*map(str, range(3)))
    calls = echoes(*map(str, range(3)))
    record = await converse(harness, turn, requests=2, calls=calls, tools=[tool(behave=in_reverse)])
    second = record.requests[1]
    expect(len(second.results) == 3, "three tool messages in the second request", second.results)
    texts = dict(second.results)
    for made, _, arguments in second.tool_calls:
        word = f"result {json.loads(arguments)['text']}"
        expect(word in texts.get(made, ""), f"{word!r} as the result of the call {made}", texts)


@CALLS.should(
    reason="Parallel calls that wait for each other make a framework slower than it needs to be.",
    hint="Gather the calls of a turn; many frameworks have a switch for it.",
    quick=True,
)
async def parallel_calls_overlap(harness: Harness) -> Json:
    """At least three of ten calls of one turn run at the same time."""
    barrier, words = Barrier(MANY), [str(number) for number in range(MANY)]
    record = await converse(harness, asks_echo(*words), calls=echoes(*words), tools=[tool(behave=barrier.tool())])
    begun = [(made.started, made.ended or made.started) for made in record.calls]
    at_once = max(sum(first <= start < last for first, last in begun) for start, _ in begun)
    return expect_figures({"calls at once": f"{at_once} of {MANY}"}, at_once >= FEW, f"{FEW} calls under way at once")


@CALLS.must(
    reason="Models may spread their work over many calls in one turn.",
    hint="Do not cut the calls of a turn off at some number.",
)
async def many_calls_in_one_turn(harness: Harness) -> None:
    """Twenty calls in one turn are all made, and each result goes back under its own call's id."""
    words = [*map(str, range(20))]
    record = await converse(harness, asks_echo(*words), requests=2, calls=echoes(*words), results=[""] * 20)
    second = record.requests[1]
    results = {made: lenient_json(text, text) for made, text in second.results}
    expect_equal(
        "results by id", results, {made: lenient_json(written) for made, _, written in second.tool_calls}, SWAPPED
    )


@CALLS.may(
    reason="A chunk may have all calls of a turn, as from vLLM and Gemini, or a few letters, as from OpenAI.",
    hint="Read every entry of `delta.tool_calls`, and join those with the same index.",
)
async def calls_come_in_any_chunks(harness: Harness) -> None:
    """Three streamed calls are all made, whether they come in one chunk, in a chunk each, or in pieces."""
    for chunks, words in CHUNKS_IN_WORDS.items():
        record = await harness.run(asks_echo(*WORDS), "done", chunks=chunks)
        if not any(request.request.stream for request in record.requests):
            raise NotTried("the framework asks for no stream")
        made = sorted(item.arguments.get("text", "") for item in record.calls)
        expect_equal(f"calls that reached the tools, sent {words}", made, sorted(WORDS), f"loses calls sent {words}")


ARGUMENTS = Theme("arguments", "Check that arguments reach the tool exactly as the model writes them.")

ANYTHING: dict[str, Any] = {}
TYPES = {
    "integer": 7,
    "large": 12345678901234567890,
    "number": 1.5,
    "zero": 0,
    "yes": True,
    "no": False,
    "nothing": None,
    "text": "hello",
    "empty": "",
    "list": [1, "1", None, [2.5, {"deep": False}]],
    "none_in_it": [],
    "object": {"a": {"b": [1, 2]}},
    "empty_object": {},
    "whole": 2.0,
    "long": 59.91386912345,
    "nested": {"whole": 1.0, "nothing": None, "list": [1.0, None, {"whole": 2.0}]},
    "single": [7],
    "twice": [1, 1, 2],
    "Upper": "kept",
}
LOOK_ALIKES = (
    *("7", "1.50", "true", "False", "null", "None", "[1, 2]", '{"a": 1}', "2024-01-01", "2026-11-28T17:00:00Z"),
    *("  kept  ", "a%20b", "&lt;b&gt; &amp;", "one\r\ntwo\n"),
)
TYPED = {"integer": "5", "number": "1.50", "boolean": "true", "null": "null", "array": "[1]", "object": "{}"}
"""Type of a parameter -> a text that looks like a value of it."""
HOSTILE_NAMES = (
    *("self", "cls", "agent", "tool", "name", "args", "kwargs", "arguments", "input", "tool_input", "output", "config"),
    *("run_manager", "callbacks", "context", "ctx", "state", "runtime", "store", "messages", "tool_call_id"),
    *("model_config", "schema", "json", "copy", "fields", "function", "loop", "timeout", "call_id"),
    *("class", "from", "None", "lambda", "return", "type", "id", "default", "properties", "required"),
    *("_p", "__class__", "__init__", "_", "a.b", "a-b", "a b", "a[b]", "$ref", "@id", "1st", "é", "参数", "x:y/z"),
)
OPEN: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"count": {"type": "integer", "minimum": 1}, "kind": {"enum": ["a", "b"]}, "day": {"type": "string"}},
    "required": ["count", "kind", "day"],
    "additionalProperties": False,
}
INVALID = {"count": "seven", "kind": "c", "colour": None}


@ARGUMENTS.must(
    reason="Scores compare the arguments that the tool got with those that were right.",
    hint="Do not build a typed object from the arguments: pass the parsed JSON on.",
    quick=True,
)
async def argument_types_are_kept(harness: Harness) -> None:
    """Numbers of any size, booleans, null, texts, lists and objects arrive with their own types."""
    schema = {"type": "object", "properties": dict.fromkeys(TYPES, ANYTHING)}
    await _expect_arrival(harness, TYPES, schema)


@ARGUMENTS.should(
    reason="A text that says `7` or `true` is not a number; a changed value makes a different call.",
    hint="Switch the framework's coercion of arguments off, or pass the arguments around it.",
    quick=True,
)
async def text_arguments_stay_text(harness: Harness) -> None:
    """Texts that look like numbers, booleans, null, JSON or dates arrive as texts, whatever types the schema has."""
    texts = {f"text_{place}": text for place, text in enumerate(LOOK_ALIKES)}
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in texts}}
    await _expect_arrival(harness, texts, schema)
    await _expect_arrival(harness, TYPED, {"type": "object", "properties": {name: {"type": name} for name in TYPED}})


@ARGUMENTS.must(
    reason="Parameters of real tools have such names; they break frameworks that pass arguments by keyword.",
    hint="Let the framework call with one mapping, and use tool.ainvoke(mapping), never tool(**mapping) by keyword.",
    quick=True,
)
async def hostile_argument_names(harness: Harness) -> None:
    """Parameters may have any name: self, config, a.b, _p, __class__, $ref, Python's keywords, spaces, é."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in HOSTILE_NAMES}}
    await _expect_arrival(harness, {name: f"value of {name}" for name in HOSTILE_NAMES}, schema)


@ARGUMENTS.must(reason="Tasks are written in many languages.", hint="Do not encode arguments by hand.", quick=True)
async def unicode_arguments(harness: Harness) -> None:
    """Letters of many scripts, also composed ones, emoji, quotes, tabs and line breaks arrive unchanged."""
    await _expect_arrival(harness, {"text": TEXT, "other": FOREIGN}, OPEN)


@ARGUMENTS.should(
    reason="Some tools take documents as arguments.",
    hint="Look for a limit that the framework sets on the length of arguments.",
)
async def large_arguments(harness: Harness) -> None:
    """An argument of 200,000 characters and one that is 40 levels deep arrive whole."""
    deep: Any = "bottom"
    for _ in range(40):
        deep = {"next": [deep]}
    await _expect_arrival(harness, {"text": "0123456789" * 20_000, "deep": deep}, OPEN)


@ARGUMENTS.should(
    reason="Models may write no arguments at all for a tool that needs none.",
    hint="Read an empty text as {}; some frameworks do not.",
    quick=True,
)
async def empty_arguments(harness: Harness) -> None:
    """An empty text as arguments is a call without arguments."""
    turn = ask(call("Echo_text", ""))
    await converse(harness, turn, requests=2, calls=[("Echo_text", {})], tools=[tool(parameters=OPEN)])


@ARGUMENTS.must(
    reason="The model must learn that its call was wrong, and the run must go on.",
    hint="Either make the call unchanged, or answer it with a tool message that says what is wrong.",
)
async def invalid_arguments_do_not_end_the_run(harness: Harness) -> None:
    """Arguments that break the schema: the call is made or refused, the model is told, and the run continues."""
    turn = ask(call("Echo_text", INVALID))
    record = await converse(harness, turn, requests=2, results=[""], tools=[tool(parameters=STRICT)])
    expect(len(record.calls) <= 1, "at most one call of the tool", number_of(len(record.calls), "call"))


@ARGUMENTS.should(
    reason="The tool decides whether arguments are right; a framework that repairs them hides the model's mistakes.",
    hint="Bind the raw schema, and switch validation, defaults and coercion of arguments off.",
)
async def arguments_are_not_repaired(harness: Harness) -> None:
    """Arguments that break the schema reach the tool as the model wrote them."""
    await _expect_arrival(harness, INVALID, STRICT)


@ARGUMENTS.should(
    reason="The tool fills in defaults; a value that the model did not write makes a different call.",
    hint="Do not fill in defaults, or None for parameters that are left out.",
)
async def defaults_are_not_filled_in(harness: Harness) -> None:
    """Optional parameters that the model leaves out are left out of the call, defaults or not."""
    optional = {"size": {"type": "integer", "default": 10}, "note": {"type": "string"}, "all": {}}
    schema = {"type": "object", "properties": {"text": {"type": "string"}, **optional}, "required": ["text"]}
    await _expect_arrival(harness, {"text": "only this"}, schema)


async def _expect_arrival(harness: Harness, arguments: dict[str, Any], schema: dict[str, Any] | None = None) -> None:
    """Expect that a call with these arguments is made unchanged."""
    offered = tool() if schema is None else tool(parameters=schema)
    record = await converse(harness, ask(call("Echo_text", arguments)), requests=2, tools=[offered])
    results = record.requests[1].results
    told = f"; the model was told: {results[0][1][:200]}" if results else ""
    expect(len(record.calls) == 1, "one call of the tool", number_of(len(record.calls), "call") + told)
    expect_equal("arguments that the tool got", record.calls[0].arguments, arguments)


CONVERSATION = Theme(
    "conversation", "Check that the model's messages are read completely, and go back to it unchanged."
)

EXTRAS = {
    "refusal": None,
    "annotations": [],
    "audio": None,
    "reasoning_content": "The parrot knows.",
    "reasoning_details": [{"type": "reasoning.text", "text": "The parrot knows."}],
    "x_vendor": {"cached": True},
}
WRITTEN = '{"text" :  "caf\\u00e9", "n": 1.0}'


@CONVERSATION.must(
    reason="Vendors number calls from 0 in every turn; an id is unique within its turn only.",
    hint="Match results to the calls of the turn just made, not by id over the whole conversation.",
)
async def ids_may_come_again(harness: Harness) -> None:
    """Ids that a later turn repeats belong to new calls with their own results."""
    turns = [ask(call("Echo_text", {"text": word}, "call_0")) for word in WORDS]
    record = await converse(harness, *turns, requests=4, calls=echoes(*WORDS))
    expect_results(record.requests[-1], WORDS)


@CONVERSATION.should(
    reason="Some vendors give every call the same id; a result that is lost misinforms the model.",
    hint="Keep the calls of a turn in a list, not by id.",
    quick=True,
)
async def ids_may_be_equal(harness: Harness) -> None:
    """Two calls of one turn with the same id are both made, and both results go back."""
    turn = ask(*(call("Echo_text", {"text": word}, "call_0") for word in WORDS[:2]))
    record = await converse(harness, turn, calls=echoes(*WORDS[:2]))
    expect_words(record.requests[1], WORDS[:2])


@CONVERSATION.should(
    reason="A conversation that was rewritten is one that the model did not have.",
    hint="Keep the text of the arguments next to the parsed object, and send the text back.",
)
async def arguments_stay_as_written(harness: Harness) -> None:
    """The arguments of a call are sent back as the model wrote them, spaces, escapes and order included."""
    record = await converse(harness, ask(call("Echo_text", WRITTEN)))
    _, second, *_ = expect_requests(record, 2, or_more=True)
    expect_equal("arguments as sent back", [text for _, _, text in second.tool_calls], [WRITTEN])


@CONVERSATION.should(
    reason="With its thoughts sent back a model is asked another question, and some endpoints refuse them.",
    hint="Send back the content and the calls of the model's message, and no other field.",
)
async def thoughts_are_not_sent_back(harness: Harness) -> None:
    """The field `reasoning_content` next to a call is not sent back; other dialects want their thoughts back."""
    thoughtful = ask(call("Echo_text", {"text": "x"}), reasoning="A secret thought.")
    record = await converse(harness, thoughtful)
    _, second, *_ = expect_requests(record, 2, or_more=True)
    kept = second.dialect != CHAT or "A secret thought." not in str(second.body)
    expect(kept, "no thoughts in the second request", second.messages)


@CONVERSATION.must(
    reason="Vendors do not agree on the finish reason of a message with calls.",
    hint="Look at tool_calls, not at finish_reason.",
)
async def calls_count_whatever_the_finish_reason(harness: Harness) -> None:
    """A call in a message is made, whether the finish reason is `stop`, `length` or `tool_calls`."""
    for reason in ("stop", "length", "tool_calls"):
        turn = ask(call("Echo_text", {"text": "x"}), finish_reason=reason)
        await converse(harness, turn, requests=2, calls=echoes("x"))


@CONVERSATION.must(
    reason="Vendors add their own fields to messages; strict parsers fail on them.",
    hint="Read the fields you know, and ignore the rest.",
)
async def fields_of_vendors_are_tolerated(harness: Harness) -> None:
    """Messages with fields that vendors add are read like any other."""
    with_call = ask(call("Echo_text", {"text": "x"}), fields=EXTRAS)
    record = await harness.run(with_call, say("done", fields=EXTRAS))
    expect_answer(record, "done")
    expect_requests(record, 2)
    expect_calls(record, *echoes("x"))
