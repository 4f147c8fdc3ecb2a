"""Typical trials of probes, texts that reveal any cleaning, and plain tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from trialbed.records import Api, Parameter, ScriptedCall, ToolSpec
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import (
    DETAILED_USAGE,
    Harness,
    Latch,
    ObservedRequest,
    PreparedTrial,
    ScriptedTool,
    TrialRecord,
    TrialSettings,
    echo,
    errs,
    returns,
    tool,
)
from trialbed_adapter_lab.probe import expect
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_calls, expect_requests, expect_results
from trialbed_scripted import Line, ModelTurn, Response, ask, call, fail, say
from trialbed_scripted.policies import PolicyModel, TextHistories, estimate_usage

TEXT = (
    "  \tTwo  blanks,  a tab\t, cafe\u0301 and caf\u00e9, \ufb01, \u00bd, 東京 and 🦜👩‍🚀.\r\n\r\n\n\n"
    "Signs: {braces} {{two}} %s $name $$ \\n &amp; <b>bold</b> %20 \u200b \u202f "
    "\u201cquotes\u201d 'single' \"double\".\n"
    "Words: True, true, null, 1.0, 1e5, Error: none, [1], a@example.org, sk-0123456789abcdef,\n"
    "0123456789abcdef0123456789abcdef, Final Answer: yes, Action: none, ~/home, ```json\n{}\n```\n  \n"
)
"""A text of a few lines."""

FOREIGN = (
    "Zürich, 東京, القاهرة, עברית, 🦜👩‍🚀, \u200b, \ufb01, “quotes”, \\n, <b>&amp;</b>, {braces}, %s\n\ttab\r\nend"
)
"""A text in several scripts."""


def long_text(characters: int, word: str = "line") -> str:
    """Return a text of lines that are all different, of about this length."""
    return "".join(f"{word} {number:06d} of a long report\n" for number in range(characters // (len(word) + 25)))


ECHO = "Echo_text"
"""The tool that a trial is offered by default."""


async def converse(
    harness: Harness,
    *turns: Line,
    answer: str = "done",
    requests: int | None = None,
    calls: Sequence[tuple[str, Any]] | None = None,
    results: Sequence[str] | None = None,
    **conditions: Unpack[TrialSettings],
) -> TrialRecord:
    """Run a trial with these turns of the model and then an answer, and expect this answer.

    Args:
        requests: expected number of model requests; None for any number.
        calls: expected calls, as ``(tool, arguments)``; None for any calls.
        results: a word of each result expected in the second request; None for any results.
        conditions: named like ``TrialSettings``.
    """
    record = await harness.run(*turns, answer, **conditions)
    expect_answer(record, answer)
    if requests is not None:
        expect_requests(record, requests)
    if calls is not None:
        expect_calls(record, *calls)
    if results is not None:
        expect_results(record.requests[1], results)
    return record


async def run_until_held(trial: PreparedTrial, latch: Latch) -> asyncio.Task[TrialRecord]:
    """Start a trial, and return it once it waits at the latch."""
    running = asyncio.create_task(trial.run())
    reached = asyncio.create_task(latch.reached.wait(trial.seconds))
    try:
        await asyncio.wait({running, reached}, return_when=asyncio.FIRST_COMPLETED)
        if running.done() or not latch.reached.is_set():
            expect_answer(await running)
            seen = "the event loop was blocked meanwhile" if latch.reached.is_set() else "the trial ended without it"
            raise CheckFailed(f"expected a request that is held back while other tasks run; seen: {seen}")
    finally:
        reached.cancel()
    return running


IDLE = 0.1
"""Seconds without a request or a call after which a trial is taken to wait; it is looked at three times."""

LEAP = 2.0
"""Seconds to skip for a waiting trial."""


async def run_without_waits(harness: Harness, trial: PreparedTrial) -> TrialRecord:
    """Run a trial, and skip the time that it sleeps between two requests, as before a retry."""
    running, before, idle = asyncio.create_task(trial.run()), 0, 0
    while not (await asyncio.wait({running}, timeout=IDLE))[0]:
        seen = (*trial.requests, *trial.calls)
        idle = idle + 1 if len(seen) == before and all(one.is_over for one in seen) else 0
        before = len(seen)
        # A thread has no clock that could be put forward.
        if idle >= 3 and harness.is_async:
            await harness.pass_time(LEAP)
    return await running


EVERYTHING = 6
"""Requests of a trial on everything, which is all that it is allowed."""


async def converse_on_everything(harness: Harness) -> TrialRecord:
    """Run a trial with odd texts, errors, equal results and details of usage, up to its last request."""
    tools = [tool(), tool("Failing_text", errs(TEXT)), tool("Odd_text", returns(TEXT)), tool("Number", returns(1.0))]
    return await harness.run(
        ask(call("Odd_text", {"text": TEXT}), text=TEXT, usage=DETAILED_USAGE),
        ask(call("Failing_text", {"text": TEXT}), call("Number", {"text": ""}), text="Two.", usage=DETAILED_USAGE),
        ask(call("Odd_text", {"text": "1"}), call("Odd_text", {"text": "1"}), usage=DETAILED_USAGE),
        ask(call("Failing_text", {"text": "2"}), text="I try again.", usage=DETAILED_USAGE),
        ask(call("Number", {"text": "3"}), usage=DETAILED_USAGE),
        say(TEXT, usage=DETAILED_USAGE),
        tools=tools,
        query=f"The query.\n{TEXT}",
        system_prompt=f"The prompt.\n{TEXT}",
        max_steps=EVERYTHING,
        temperature=0.35,
        max_tokens=512,
        seed=1234567,
    )


async def expect_fresh_trial(harness: Harness) -> None:
    """Run a trial after one with the word ``walrus``, and expect no traces of the other."""
    record = await converse(harness, asks_echo("second"), answer="second", query="the second query")
    *_, last = expect_requests(record, 2, or_more=True)
    expect_calls(record, *echoes("second"))
    expect("walrus" not in str(last.messages), "nothing of the first trial in the second's conversation", last.messages)


def refuse(status: int) -> Callable[[ObservedRequest], Response]:
    """Return an error of the endpoint, in the form of the request's dialect."""
    return lambda request: fail(status, spoken=request.spoken)


def asks_echo(*texts: str) -> ModelTurn:
    """Return a turn that calls the default tool once with each text."""
    return ask(*(call(ECHO, {"text": text}) for text in texts))


def echoes(*texts: str) -> list[tuple[str, dict[str, str]]]:
    """Return the calls of the default tool with these texts, for ``called``."""
    return [(ECHO, {"text": text}) for text in texts]


WITHOUT_MESSAGE: Mapping[str, Mapping[str, object]] = {
    "chat_completions": {"object": "chat.completion", "choices": []},
    "messages": {"type": "message", "role": "assistant", "stop_reason": "end_turn"},
    "responses": {"object": "response", "status": "completed", "created_at": 0},
}
"""Dialect -> an answer without the part that the model writes."""


def without_message(request: ObservedRequest) -> Response:
    """Return an answer without the part that the model writes."""
    return Response.document({"id": "faulty", "created": 0, "model": "faulty", **WITHOUT_MESSAGE[request.dialect]})


QUERY = "Report on the stations that matter today, and say what each of them measured."

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Script = tuple[ScriptedCall, ...]
"""Calls that a policy makes."""


def stations(tools: int, calls: int) -> tuple[list[ScriptedTool], Script]:
    """Return tools, and calls of different tools spread over all of them."""
    offered = [_station(number) for number in range(tools)]
    chosen = [offered[index * (tools - 1) // max(1, calls - 1)] for index in range(calls)]
    script = (
        ScriptedCall(name=item.name, arguments={"instrument": f"gauge-{number}", "day": "Wed"})
        for number, item in enumerate(chosen)
    )
    return offered, tuple(script)


def play(policy: str, tools: Sequence[ScriptedTool], script: Script, turns: int) -> list[Line]:
    """Return the lines of a policy in one trial."""
    model, histories = PolicyModel(policy, script, [item.spec for item in tools]), TextHistories()

    def take_turn(request: ObservedRequest) -> ModelTurn:
        turn = model.turn(request.request, histories)
        return replace(turn, usage=estimate_usage(request.request, turn.answer(), request.spoken))

    return [take_turn] * turns


def _station(number: int) -> ScriptedTool:
    api = Api(
        category="Fidelity",
        tool_name=f"Station {number:04}",
        api_name="Report",
        description=f"What an instrument of station {number:04} measured on a day.",
        required_parameters=(
            Parameter(name="instrument", type="STRING", description="The instrument's name"),
            Parameter(name="day", type="ENUM", description="Day of the week", enum=DAYS),
        ),
        optional_parameters=(Parameter(name="limit", type="INTEGER", description="Values at most", default=10),),
    )
    schema = api.parameters_schema()
    name = f"Station_{number:04}_Report"
    return ScriptedTool(ToolSpec(name=name, description=api.description, parameters=schema, api=api.ref), echo)
