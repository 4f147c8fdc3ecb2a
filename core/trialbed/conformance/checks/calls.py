"""Calls: what the model asks for is done, once, and it learns what came of it."""

from __future__ import annotations

import asyncio

from trialbed.conformance._check import must, should
from trialbed.conformance._expect import answered, asked, called, expect, expect_equal
from trialbed.conformance._recording import ToolCall
from trialbed.conformance._script import asks, call
from trialbed.conformance._stage import Stage
from trialbed.conformance._tools import ApiReply, Meeting, tool


@must(
    reason="A task that needs no tool is measured too.",
    hint="Return the model's text as final_answer, with finish_of(text) as finish.",
)
async def plain_answer(stage: Stage) -> None:
    """The model answers at once: one request, no calls, and its text is the final answer."""
    play = await stage.play("Polly says hello.")
    answer = answered(play, "Polly says hello.")
    asked(play, 1)
    called(play)
    expect_equal("finish", answer.finish, "give_answer")


@must(
    reason="One call is the unit of everything that is measured.",
    hint="Hand the model's arguments to tool.ainvoke() as they are, and its text back as the tool message.",
)
async def single_call(stage: Stage) -> None:
    """One call is made once, with the model's arguments, and the model gets the result."""
    play = await stage.play(asks(call("Echo_text", {"text": "hello"})), "done")
    answered(play, "done")
    _, second = asked(play, 2)
    called(play, ("Echo_text", {"text": "hello"}))
    expect_equal("results in the second request", [text for _, text in second.results], ['{"text": "hello"}'])


@must(
    reason="Calls that depend on each other come one per turn.",
    hint="Ask the model again after every turn with calls, with all results so far.",
)
async def sequential_calls(stage: Stage) -> None:
    """One call per turn, three turns: each is made in its turn, and the model sees all results so far."""
    words = ("one", "two", "three")
    play = await stage.play(*(asks(call("Echo_text", {"text": word})) for word in words), "done")
    answered(play, "done")
    requests = asked(play, 4)
    expect_equal("arguments of the calls", [item.arguments for item in play.calls], [{"text": word} for word in words])
    expect_equal("results per request", [len(request.results) for request in requests], [0, 1, 2, 3])


@must(
    reason="A model may ask for several calls in one turn; one that is left out is a call the model believes made.",
    hint="Make every call of the turn before you ask the model again.",
)
async def parallel_calls(stage: Stage) -> None:
    """Three calls of three tools in one turn: each is made once, and the next request has all results."""
    names = ("Echo_a", "Echo_b", "Echo_c")
    turn = asks(*(call(name, {"text": name}) for name in names))
    play = await stage.play(turn, "done", tools=[tool(name) for name in names])
    answered(play, "done")
    _, second = asked(play, 2)
    called(play, *((name, {"text": name}) for name in names))
    expect(len(second.results) == len(names), "three tool messages in the second request", second.results)


@must(
    reason="A result under another call's id tells the model something untrue.",
    hint="Take the tool_call_id from the call that the result belongs to, not from the order of arrival.",
)
async def parallel_results_match_ids(stage: Stage) -> None:
    """Three calls that end in reverse order: each result stands under its own call's id."""
    ended = [asyncio.Event() for _ in range(3)]

    async def in_reverse(made: ToolCall) -> ApiReply:
        place = int(made.arguments["text"])
        if place < 2:
            await _soon(ended[place + 1])
        ended[place].set()
        return ApiReply(f"result {place}")

    turn = asks(*(call("Echo_text", {"text": str(place)}, id=f"id_{place}") for place in range(3)))
    play = await stage.play(turn, "done", tools=[tool(behave=in_reverse)])
    answered(play, "done")
    _, second = asked(play, 2)
    expect_equal("results by id", dict(second.results), {f"id_{place}": f"result {place}" for place in range(3)})


@should(
    reason="Parallel calls that wait for each other make a framework slower than the model's plan allows.",
    hint="Gather the calls of a turn; many frameworks have a switch for it.",
)
async def parallel_calls_overlap(stage: Stage) -> None:
    """Three calls of one turn are under way at the same time."""
    meeting = Meeting(3)
    turn = asks(*(call("Echo_text", {"text": str(place)}) for place in range(3)))
    play = await stage.play(turn, "done", tools=[tool(behave=meeting.tool())])
    answered(play, "done")
    called(play, *(("Echo_text", {"text": str(place)}) for place in range(3)))
    expect(meeting.met, "three calls under way at once", "each began after another had ended")


async def _soon(event: asyncio.Event) -> None:
    """Wait for the event, but not for ever: calls may be made one after the other."""
    try:
        await asyncio.wait_for(event.wait(), 0.5)
    except TimeoutError:
        event.set()


CHECKS = (
    plain_answer,
    single_call,
    sequential_calls,
    parallel_calls,
    parallel_results_match_ids,
    parallel_calls_overlap,
)
