"""Check that a failing tool or an invalid call costs a turn, and a failing model the trial."""

from __future__ import annotations

import socket
from contextlib import closing, suppress

from trialbed.records import GIVE_UP, Json
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import Harness, TrialRecord, breaks, errs, returns, tool
from trialbed_adapter_lab.probe import expect, expect_figures, must, should
from trialbed_adapter_lab.probes._conversations import (
    ECHO,
    asks_echo,
    converse,
    echoes,
    refuse,
    run_without_waits,
    without_message,
)
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_calls, expect_equal, expect_requests
from trialbed_scripted import Response, ask, call, say

STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503)
MOST = 30
"""Refusals of one trial: more than any framework's own retries."""


@must(
    reason="A failing tool is part of the task, not the end of it.",
    hint="tool.ainvoke() returns errors as text that begins with `Error:`; pass it on like any other result.",
)
async def tool_error_goes_to_the_model(harness: Harness) -> None:
    """A tool's error reaches the model as the call's result, and the run continues."""
    tools = [tool(behave=errs("parrot is asleep"))]
    await converse(harness, asks_echo("x"), requests=2, results=["parrot is asleep"], tools=tools)


@must(
    reason="The connection to a tool can fail as well as the tool itself.",
    hint="tool.ainvoke() returns such failures as text; do not raise an exception for them.",
)
async def broken_api_goes_to_the_model(harness: Harness) -> None:
    """A server error in place of the tool's answer reaches the model as text, and the run continues."""
    tools = [tool(behave=breaks(500))]
    await converse(harness, asks_echo("x"), requests=2, calls=echoes("x"), results=["500"], tools=tools)


@must(
    reason="Models invent tools, and must be able to correct themselves.",
    hint="Answer with a tool message that says there is no such tool; many frameworks raise by default.",
    quick=True,
)
async def unknown_tool_goes_back(harness: Harness) -> None:
    """A call of a tool that is not offered is answered with text, and the run continues."""
    turn = ask(call("Echo_nobody", {"text": "x"}))
    await converse(harness, turn, asks_echo("y"), requests=3, calls=echoes("y"), results=[""])


@must(
    reason="One invalid call must not prevent the valid ones.",
    hint="Answer the invalid calls of a turn one by one, and make the valid ones.",
)
async def valid_calls_beside_invalid_ones(harness: Harness) -> None:
    """Valid calls are made even if others in the same turn are invalid, and every call gets a result."""
    turn = ask(
        call("Echo_text", {"text": "first"}),
        call("Echo_text", '{"text": '),
        call("Echo_nobody", {"text": "x"}),
        call("Echo_text", "[1]"),
        call("Echo_text", {"text": "last"}),
    )
    record = await converse(harness, turn)
    _, second = expect_requests(record, 2)
    made = [item.arguments for item in record.calls]
    for wanted in ("first", "last"):
        expect({"text": wanted} in made, f"the valid call {wanted!r} to be made", made)
    ids = sorted(made for made, _ in second.results)
    expect_equal("calls with a result", ids, sorted(made for made, _, _ in second.tool_calls))
    expect(len(ids) == 5, "a result of each of the five calls", second.results)


@must(
    reason="An endpoint's error is not the framework's answer, and must not be scored as one.",
    hint="Raise trialbed.ModelFailed for every error of the endpoint; some frameworks return the error as the answer.",
)
async def model_errors_fail_the_trial(harness: Harness) -> None:
    """Each error status of the model's endpoint leads to ModelFailed."""
    for status in STATUSES:
        _expect_model_failure(await harness.run(refuse(status)), f"status {status}")


@should(
    reason="A retry is an extra request; the gateway handles vendors' limits in the same way for all frameworks.",
    hint="Set the client's and the framework's retries to 0.",
)
async def model_errors_are_not_retried(harness: Harness) -> Json:
    """After an error status the model is not asked again."""
    counts = {}
    for status in STATUSES:
        trial = harness.prepare(*[refuse(status)] * MOST)
        with suppress(CheckFailed):  # it may wait for long after the last one
            await run_without_waits(harness, trial)
        counts[status] = len(trial.requests)
    others = [str(status) for status, count in counts.items() if count > 1 and status not in (429, 500)]
    figures: dict[str, Json] = {f"requests after {status}": counts[status] for status in (429, 500)}
    figures["other statuses that are retried"] = ", ".join(others) or "none"
    return expect_figures(figures, {*counts.values()} == {1}, "one request after each error status")


@should(
    reason="A failure can be explained only if the endpoint's own words are kept.",
    hint="Put the SDK's error text into ModelFailed.",
    quick=True,
)
async def model_errors_are_named(harness: Harness) -> None:
    """The failure's message contains the status and the endpoint's own words."""
    for status in (400, 429, 503):
        record = await harness.run(refuse(status))
        message = record.failure.message if record.failure else "no failure"
        expect(str(status) in message, f"the status {status} in the failure's message", message)
        expect("the model refuses" in message, "the endpoint's words, `the model refuses …`, in the message", message)


@must(
    reason="A failure of the model is one at any point of the trial.",
    hint="Raise trialbed.ModelFailed wherever it happens; do not return a partial answer.",
    quick=True,
)
async def model_error_after_calls(harness: Harness) -> None:
    """An error of the model's endpoint after a call fails the trial as well."""
    for turns in (1, 5):
        record = await harness.run(*[asks_echo("x")] * turns, refuse(500))
        _expect_model_failure(record, f"status 500 in request {turns + 1}")


@must(
    reason="An endpoint that is down says nothing about the framework.",
    hint="Raise trialbed.ModelFailed for errors of the connection too.",
)
async def unreachable_model_fails_the_trial(harness: Harness) -> None:
    """A model that cannot be reached leads to ModelFailed."""
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        record = await harness.run("never", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    _expect_model_failure(record, "an endpoint that refuses connections")


@must(
    reason="A response without a message, or a proxy's error page, is not an answer of the model.",
    hint="Look for IndexError or None when the framework reads choices[0], and raise trialbed.ModelFailed for "
    "everything that is not a completion.",
)
async def broken_responses_fail_the_trial(harness: Harness) -> None:
    """An answer without choices, or without content in other dialects, and a page of HTML lead to ModelFailed."""
    page = Response.text("<html><body>Bad gateway</body></html>", "text/html")
    _expect_model_failure(await harness.run(without_message), "an answer without a message")
    _expect_model_failure(await harness.run(page), "a page of HTML with status 200")


@must(
    reason="Some endpoints report no tokens; a framework that needs them would lose every trial there.",
    hint="Read the usage if there is one; hand the framework zeros if it needs numbers, and claim None.",
)
async def missing_usage_is_no_error(harness: Harness) -> None:
    """Responses without a report of tokens are read like others."""
    record = await harness.run(ask(call(ECHO, {"text": "x"}), usage=None), say("done", usage=None))
    expect_answer(record, "done")
    expect_calls(record, *echoes("x"))


@must(
    binds="all",
    reason="An empty message is not an answer; counting it as one would credit the framework with work it did not do.",
    hint="Use finish_of(text): it is None for an empty text.",
    quick=True,
)
async def empty_answer_is_unfinished(harness: Harness) -> None:
    """An empty message (an empty text, spaces or null, thoughts or none) leaves the trial unfinished."""
    for text, thoughts in (("", ""), (None, ""), ("  \n ", ""), ("", "The parrot is green.")):
        said = say(text, reasoning=thoughts)
        record = await harness.run(said, said, said, said, max_steps=4)
        if (answer := record.answer) is not None:
            expect(answer.finish is None, f"finish None after the message {text!r}", answer.finish)
            expect(not answer.final_answer.strip(), f"an empty final_answer after {text!r}", answer.final_answer)


@should(
    reason="Asking again after an empty message is a second chance that other frameworks do not have.",
    hint="End the run with the first message without calls, empty or not.",
)
async def empty_answer_ends_the_run(harness: Harness) -> None:
    """After an empty message, at once or after a call, the model is not asked again; the answer is empty."""
    for turns in ([], [asks_echo("x")]):
        record = await harness.run(*turns, say(""), "asked again", tools=[tool(behave=returns("a result"))])
        answer = expect_answer(record)
        expect_requests(record, len(turns) + 1)
        expect_equal("final_answer", answer.final_answer.strip(), "")


@should(
    reason="Models that think run out of tokens, and some answers are filtered; that is not a defect of the framework.",
    hint="Look for exceptions that the framework raises on the finish reasons `length` and `content_filter`.",
)
async def empty_answer_that_was_cut_off_is_unfinished(harness: Harness) -> None:
    """An empty message with the finish reason `length` or `content_filter` leaves the trial unfinished, not failed."""
    for reason in ("length", "content_filter"):
        answer = expect_answer(await harness.run(say("", finish_reason=reason)))
        expect(answer.finish is None, f"finish None after an empty message that ended by {reason}", answer.finish)


@must(
    binds="all",
    reason="Giving up is counted as a separate outcome.",
    hint="Use finish_of(text) on the text as the model wrote it.",
)
async def giving_up(harness: Harness) -> None:
    """An answer that begins with GIVE_UP is kept, and counts as giving up."""
    text = f"{GIVE_UP} The parrot does not talk."
    record = await harness.run(text)
    answer = expect_answer(record, text)
    expect_equal("finish", answer.finish, "give_up_and_restart")


def _expect_model_failure(record: TrialRecord, what: str) -> None:
    answer = record.answer.final_answer if record.answer else ""
    seen = record.failure.message if record.failure else f"the answer {show(answer)}"
    is_right = record.failure is not None and record.failure.kind == "model"
    expect(is_right, f"ModelFailed after {what}", seen)
