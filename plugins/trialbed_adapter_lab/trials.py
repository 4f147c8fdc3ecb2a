"""Typical trials of probes, texts that reveal any cleaning, and the expectations of checks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from trialbed.records import Answer, Api, Parameter, ScriptedCall, ToolSpec
from trialbed.texts import number_of, one_line
from trialbed_adapter_lab.differences import differences, show, tell_texts_apart
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
from trialbed_adapter_lab.probe import ASKED_ON, FAILS, FAILS_EARLY, CheckFailed, expect
from trialbed_scripted import AFTER_THE_END, Line, ModelTurn, Response, ask, call, fail, say
from trialbed_scripted.policies import PolicyModel, TextHistories, estimate_usage

SHOWN = 120
"""Characters of a program's failure that are part of its cause."""

SHORT = 40
"""Longest text that is shown completely instead of its first difference."""


def expect_equal(what: str, seen: Any, expected: Any, cause: str = "") -> None:
    """Fail unless both are the same JSON value; reports the first difference."""
    place = difference(expected, seen)
    if place is not None:
        raise CheckFailed(f"{what}: {place}", cause)


def expect_text(what: str, texts: Sequence[str], text: str) -> None:
    """Fail unless any text contains this one; reports the difference if there is only one text."""
    if not any(text in one for one in texts):
        seen = tell_texts_apart(text, texts[0]) if len(texts) == 1 else show(list(texts))
        raise CheckFailed(f"expected {what}; seen: {seen}")


def expect_answer(record: TrialRecord, text: str | None = None) -> Answer:
    """Return the answer of a trial that did not fail, with this text."""
    if record.answer is None:
        raise CheckFailed(f"expected an answer; seen: the trial failed: {_failure(record)}", _failure_cause(record))
    if AFTER_THE_END in record.answer.final_answer:
        count = number_of(len(record.requests), "time")
        raise CheckFailed(f"expected no request after the model's answer; seen: it was asked {count}", ASKED_ON)
    if text is not None:
        expect_equal("final_answer", record.answer.final_answer, text, "the final answer is not the model's last text")
    return record.answer


def expect_requests(record: TrialRecord, times: int, *, or_more: bool = False) -> tuple[ObservedRequest, ...]:
    """Return the requests of a trial that asked the model this many times, or more if a framework may add some."""
    seen = len(record.requests)
    ended = f", and the trial failed: {_failure(record)}" if record.failure else ""
    cause = _failure_cause(record) or f"{'more' if seen > times else 'fewer'} requests to the model than turns"
    what = f"at least {number_of(times, 'model request')}" if or_more else number_of(times, "model request")
    expect(seen == times or (or_more and seen > times), what, f"{number_of(seen, 'request')}{ended}", cause)
    return record.requests


def expect_words(request: ObservedRequest, words: Sequence[str]) -> None:
    """Fail unless each word is in some message of the request."""
    for word in words:
        expect_text(f"{show(word)} in a message to the model", request.said_by(), word)


def expect_calls(record: TrialRecord, *calls: tuple[str, Any]) -> None:
    """Fail unless exactly these calls were made, in any order."""
    made = [[call.tool, call.arguments] for call in record.calls]
    kind = "other" if len(made) == len(calls) else "more" if len(made) > len(calls) else "fewer"
    cause = _failure_cause(record) or f"{kind} calls reached the tools than the model asked for"
    expect_equal("calls that reached the tools", in_order(made), in_order([list(pair) for pair in calls]), cause)


def expect_results(request: ObservedRequest, words: Sequence[str]) -> None:
    """Fail unless the request has as many results as there are words, each with its word, in order.

    Each must be text, with the id of a call in the conversation.
    """
    texts = [text for _, text in request.results]
    right = len(texts) == len(words) and all(word in text for word, text in zip(words, texts, strict=True))
    what = number_of(len(words), "tool message")
    cause = "the model is told other results than those of its calls"
    expect(right, f"{what} with {show(list(words))}" if any(words) else what, texts or "none", cause)
    expect(all(texts), f"{what} with some text", texts)
    ids = {made for made, _, _ in request.tool_calls}
    expect(all(made in ids for made, _ in request.results), f"results of the calls {sorted(ids)}", request.results)


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return the values, in an order that does not depend on the one they came in."""
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def difference(expected: Any, seen: Any) -> str | None:
    """Return the first difference of two JSON values, with both values; None if they are equal.

    Types matter: 1 is neither true nor "1". The order of keys does not count.
    """
    found = next(
        iter(differences(*(json.loads(json.dumps(value, sort_keys=True)) for value in (expected, seen)))), None
    )
    if found is None:
        return None
    given, sent, at = found.given, found.sent, f" at {found.pointer}" if found.pointer else ""
    if found.kind == "lost":
        return f"expected {show(given)}{at}; seen: nothing{at}"
    if found.kind == "added":
        return f"expected nothing{at}; seen: {show(sent)}{at}"
    if isinstance(given, str) and isinstance(sent, str) and max(len(given), len(sent)) > SHORT:
        return f"expected another text{at}; seen: {tell_texts_apart(given, sent)}"
    return f"expected {show(given)}{at}; seen: {show(sent)}{at}"


def _failure(record: TrialRecord) -> str:
    if record.failure is None:
        return "no"
    # The markers below a line of code are for those who see the whole traceback.
    lines = [line for line in record.failure.detail.splitlines() if line.strip(" ^~")]
    own, last = _own_frame(record, lines), lines[-5:-1]
    shown_lines = last if not own or own[0] in last else [*own, "  …", *last]
    return f"{record.failure.kind}: {record.failure.message}" + "".join(f"\n  {line}" for line in shown_lines)


def _own_frame(record: TrialRecord, lines: Sequence[str]) -> Sequence[str]:
    """Return the deepest traceback frame in the adapter's own package, with its line of code."""
    start = f'  File "{record.adapter}'
    found = [number for number, line in enumerate(lines) if record.adapter and line.startswith(start)]
    return lines[found[-1] : found[-1] + 2] if found else ()


def _failure_cause(record: TrialRecord) -> str:
    """Return the cause of a failed trial in words, with its place in the adapter; empty if it did not fail."""
    if record.failure is None:
        return ""
    # The frames of a program's failure are Trialbed's own; its words are the program's.
    own = () if record.is_program else _own_frame(record, record.failure.detail.splitlines())
    where = f" in {own[0].strip()}" if own else ""
    said = record.failure.message
    named = one_line(said, SHOWN) if record.is_program else said.partition(":")[0]
    what = "a malformed answer" if record.failure.kind == "answer" else named
    return f"{FAILS if record.requests else f'{FAILS_EARLY},'} with {what}{where}"


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
