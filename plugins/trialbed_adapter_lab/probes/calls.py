"""Check that each requested call is made once, and the model gets its result."""

from __future__ import annotations

import asyncio
import json

from trialbed.records import Json
from trialbed.wire import lenient_json
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.harness import ApiReply, Barrier, Chunks, Harness, ObservedCall, returns, tool
from trialbed_adapter_lab.probe import expect, expect_figures, may, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, converse, echoes
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_results,
    expect_words,
)
from trialbed_scripted import ask, call

FEW, MANY = 3, 10
"""Calls of a turn that have to run at the same time, and calls of that turn: more than a usual pool's threads."""

WORDS = ("one", "two", "three")
SWAPPED = "results go back under the ids of other calls"
CHUNKS_IN_WORDS: dict[Chunks, str] = {"tokens": "in pieces", "calls": "in a chunk each", "whole": "in one chunk"}


@must(
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


@must(
    reason="Some tasks have no tools, and many endpoints reject an empty list of tools.",
    hint="Leave the request's tools out if there are none.",
    quick=True,
)
async def no_tools(harness: Harness) -> None:
    """Without tools the request offers none, and the model's text is the answer."""
    record = await converse(harness, answer="nothing to call", tools=())
    (request,) = expect_requests(record, 1)
    expect("tools" not in request.body, "a request without `tools`", request.body.get("tools"))


@must(
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


@must(
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


@must(
    reason="A request more is one that the other frameworks do not make.",
    hint="Look for planning, reflection, titles and summaries that the framework asks the model for.",
)
async def model_is_asked_once_per_turn(harness: Harness) -> None:
    """An answer at once takes one request, a call and an answer two; each result is one tool message."""
    expect_requests(await harness.run("hello"), 1)
    expect_requests(record := await harness.run(asks_echo("hello"), "done"), 2)
    expect_results(record.requests[1], ["hello"])


@must(
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


@should(
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


@must(
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


@may(
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
