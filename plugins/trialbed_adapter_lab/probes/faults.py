"""Check that failing tools, faulty calls and failing models end as they should."""

from __future__ import annotations

import json
import socket
from contextlib import closing, suppress

from trialbed.records import GIVE_UP, Json
from trialbed.texts import number_of
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.harness import Harness, TrialRecord, breaks, errs, returns, tool
from trialbed_adapter_lab.probe import CheckFailed, Theme, expect, expect_figures
from trialbed_adapter_lab.trials import (
    ECHO,
    asks_echo,
    converse,
    echoes,
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    refuse,
    run_without_waits,
    without_message,
)
from trialbed_scripted import Response, ask, call, forever, say

FAULTS = Theme("faults", "Check that a failing tool or an invalid call costs a turn, and a failing model the trial.")

STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503)
MOST = 30
"""Refusals of one trial: more than any framework's own retries."""


@FAULTS.must(
    reason="A failing tool is part of the task, not the end of it.",
    hint="tool.ainvoke() returns errors as text that begins with `Error:`; pass it on like any other result.",
)
async def tool_error_goes_to_the_model(harness: Harness) -> None:
    """A tool's error reaches the model as the call's result, and the run continues."""
    tools = [tool(behave=errs("parrot is asleep"))]
    await converse(harness, asks_echo("x"), requests=2, results=["parrot is asleep"], tools=tools)


@FAULTS.must(
    reason="The connection to a tool can fail as well as the tool itself.",
    hint="tool.ainvoke() returns such failures as text; do not raise an exception for them.",
)
async def broken_api_goes_to_the_model(harness: Harness) -> None:
    """A server error in place of the tool's answer reaches the model as text, and the run continues."""
    tools = [tool(behave=breaks(500))]
    await converse(harness, asks_echo("x"), requests=2, calls=echoes("x"), results=["500"], tools=tools)


@FAULTS.must(
    reason="Models invent tools, and must be able to correct themselves.",
    hint="Answer with a tool message that says there is no such tool; many frameworks raise by default.",
    quick=True,
)
async def unknown_tool_goes_back(harness: Harness) -> None:
    """A call of a tool that is not offered is answered with text, and the run continues."""
    turn = ask(call("Echo_nobody", {"text": "x"}))
    await converse(harness, turn, asks_echo("y"), requests=3, calls=echoes("y"), results=[""])


@FAULTS.must(
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


@FAULTS.must(
    reason="An endpoint's error is not the framework's answer, and must not be scored as one.",
    hint="Raise trialbed.ModelFailed for every error of the endpoint; some frameworks return the error as the answer.",
)
async def model_errors_fail_the_trial(harness: Harness) -> None:
    """Each error status of the model's endpoint leads to ModelFailed."""
    for status in STATUSES:
        _expect_model_failure(await harness.run(refuse(status)), f"status {status}")


@FAULTS.should(
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


@FAULTS.should(
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


@FAULTS.must(
    reason="A failure of the model is one at any point of the trial.",
    hint="Raise trialbed.ModelFailed wherever it happens; do not return a partial answer.",
    quick=True,
)
async def model_error_after_calls(harness: Harness) -> None:
    """An error of the model's endpoint after a call fails the trial as well."""
    for turns in (1, 5):
        record = await harness.run(*[asks_echo("x")] * turns, refuse(500))
        _expect_model_failure(record, f"status 500 in request {turns + 1}")


@FAULTS.must(
    reason="An endpoint that is down says nothing about the framework.",
    hint="Raise trialbed.ModelFailed for errors of the connection too.",
)
async def unreachable_model_fails_the_trial(harness: Harness) -> None:
    """A model that cannot be reached leads to ModelFailed."""
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        record = await harness.run("never", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    _expect_model_failure(record, "an endpoint that refuses connections")


@FAULTS.must(
    reason="A response without a message, or a proxy's error page, is not an answer of the model.",
    hint="Look for IndexError or None when the framework reads choices[0], and raise trialbed.ModelFailed for "
    "everything that is not a completion.",
)
async def broken_responses_fail_the_trial(harness: Harness) -> None:
    """An answer without choices, or without content in other dialects, and a page of HTML lead to ModelFailed."""
    page = Response.text("<html><body>Bad gateway</body></html>", "text/html")
    _expect_model_failure(await harness.run(without_message), "an answer without a message")
    _expect_model_failure(await harness.run(page), "a page of HTML with status 200")


@FAULTS.must(
    reason="Some endpoints report no tokens; a framework that needs them would lose every trial there.",
    hint="Read the usage if there is one; hand the framework zeros if it needs numbers, and claim None.",
)
async def missing_usage_is_no_error(harness: Harness) -> None:
    """Responses without a report of tokens are read like others."""
    record = await harness.run(ask(call(ECHO, {"text": "x"}), usage=None), say("done", usage=None))
    expect_answer(record, "done")
    expect_calls(record, *echoes("x"))


@FAULTS.must(
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


@FAULTS.should(
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


@FAULTS.should(
    reason="Models that think run out of tokens, and some answers are filtered; that is not a defect of the framework.",
    hint="Look for exceptions that the framework raises on the finish reasons `length` and `content_filter`.",
)
async def empty_answer_that_was_cut_off_is_unfinished(harness: Harness) -> None:
    """An empty message with the finish reason `length` or `content_filter` leaves the trial unfinished, not failed."""
    for reason in ("length", "content_filter"):
        answer = expect_answer(await harness.run(say("", finish_reason=reason)))
        expect(answer.finish is None, f"finish None after an empty message that ended by {reason}", answer.finish)


@FAULTS.must(
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


MISTAKES = Theme("mistakes", "Check that typical mistakes of real models go back to them, without guessing.")

OBJECT = {"text": "x"}

WRITTEN = {
    "encoded twice": json.dumps(json.dumps(OBJECT)),
    "as Python writes them": "{'text': 'x', 'n': None}",
    "with a comma too many": '{"text": "x",}',
    "in a fence": '```json\n{"text": "x"}\n```',
    "twice in succession": '{"text": "x"}{"text": "x"}',
    "in a list": '[{"text": "x"}]',
    "as a bare text": '"x"',
    "as a number": "7",
    "as a boolean": "true",
    "as words": "text=x",
    "cut off": '{"text": "x',
    "as null": "null",
    "with a comment": '{"text": "x"} // done',
    "with words before them": 'Arguments: {"text": "x"}',
}
"""A way to write arguments that are no JSON object -> the text."""

NAMES = (
    *("echo_text", "ECHO_TEXT", "Echo-text", "EchoText", "Echo_txt", "Echo_texts", "Echo_text_", "Echo_text()"),
    *("functions.Echo_text", "Echo_text.call", " Echo_text", "Echo_text<|channel|>", "text", "Echo text", "Echo.text"),
)
"""Names similar to a tool's."""

THOUGHTS = "<think>I need the tool.</think>\n\nI look."

IN_TEXT = (
    '<tool_call>\n{"name": "Echo_text", "arguments": {"text": "x"}}\n</tool_call>',
    '```json\n{"name": "Echo_text", "arguments": {"text": "x"}}\n```',
    'Action: Echo_text\nAction Input: {"text": "x"}\n',
    "[Echo_text(text='x')]",
    '{"name": "Echo_text", "arguments": {"text": "x"}}',
    '{"name": "Echo_text", "parameters": {"text": "x"}}',
    '<function=Echo_text>{"text": "x"}</function>',
    '[TOOL_CALLS] [{"name": "Echo_text", "arguments": {"text": "x"}}]',
)
"""Calls as models write them in a text."""


@MISTAKES.should(
    reason="A call with arguments that the model did not write is the framework's, and hides the model's mistake.",
    hint="Read the arguments once, as JSON, and answer with a tool message if they are not an object.",
    quick=True,
)
async def mistaken_arguments_are_no_call(harness: Harness) -> None:
    """Arguments encoded twice, as Python, in a fence, in a list, cut off and the like lead to no call."""
    record = await harness.run(*[ask(call("Echo_text", text)) for text in WRITTEN.values()], "done", max_steps=20)
    expect_answer(record, "done")
    made = [item.arguments for item in record.calls]
    expect(not made, "no call for arguments that are no JSON object", made)


@MISTAKES.must(
    reason="These are the commonest mistakes of real models after broken JSON, and models correct them when asked to.",
    hint="Answer with a tool message that names the mistake; some frameworks raise, or end the run silently.",
)
async def mistaken_arguments_go_back(harness: Harness) -> None:
    """After each such call the model gets a result, and its next call is made."""
    for what, text in WRITTEN.items():
        record = await harness.run(ask(call("Echo_text", text)), asks_echo("right"), "done")
        failure = f"the trial failed: {record.failure.message}" if record.failure else ""
        expect(not failure, f"an answer after arguments {what}", failure)
        count = len(expect_requests(record, 3)[1].results)
        expect(count == 1, f"1 result of the call with arguments {what}", number_of(count, "result"))
        last = record.calls[-1].arguments if record.calls else None
        expect_equal(f"arguments of the call after those {what}", last, {"text": "right"})


@MISTAKES.should(
    reason="A call of a tool that the model did not name is the framework's guess, and would be scored as the model's.",
    hint="Look a tool up by its whole name; switch the repair of names off.",
    quick=True,
)
async def near_names_are_no_call(harness: Harness) -> None:
    """Names that differ from a tool's by case, a letter, a dash or a namespace lead to no call."""
    # In halves: of long trials other checks say more.
    for names in (NAMES[::2], NAMES[1::2]):
        record = await harness.run(*[ask(call(name, OBJECT)) for name in names], "done", max_steps=10)
        expect_answer(record, "done")
        made = len(record.calls)
        expect(not made, "no call of a tool that is not named", f"{number_of(made, 'call')} for {len(names)} names")


@MISTAKES.must(
    binds="all",
    reason="A call that the model did not ask for is the framework's, and would be scored as the model's.",
    hint="Read calls from tool_calls alone; switch parsers of text off.",
)
async def written_calls_are_not_made(harness: Harness) -> None:
    """Calls in tags, fences, as an action, as Python or as the whole text of a message are not made."""
    for text in IN_TEXT:
        record = await harness.run(forever(say(text)), max_steps=3)
        made = [item.arguments for item in record.calls]
        expect(not made, f"no call for the text {text!r}", made)


@MISTAKES.should(
    reason="A text in the form of a call is the model's answer, if it calls nothing.",
    hint="End the run with the first message without tool_calls, whatever it says.",
)
async def written_calls_are_the_answer(harness: Harness) -> None:
    """A message that writes a call in its text ends the run, and is the answer."""
    for text in IN_TEXT:
        record = await harness.run(text, "asked again")
        answer = expect_answer(record)
        expect_requests(record, 1)
        expect(answer.final_answer != "", "the model's text as the answer", answer.final_answer)


@MISTAKES.must(
    reason="Many models describe each step while they take it, and some think aloud before a call.",
    hint="Look at tool_calls first; a text next to them is not an answer.",
    quick=True,
)
async def calls_beside_text_are_made(harness: Harness) -> None:
    """A call next to a text, to thoughts in tags or to words of an ending is made, and the run goes on."""
    for text in ("Let me look.", THOUGHTS, "Final Answer: Polly.", "I am done."):
        record = await harness.run(ask(call("Echo_text", OBJECT), text=text), "Polly.")
        expect_requests(record, 2)
        expect_calls(record, *echoes("x"))


@MISTAKES.may(
    reason="A model that thinks aloud may need its thoughts, and where some frameworks drop them it has another text.",
    hint="Send the content back unchanged; look for a parser of `<think>`.",
)
async def thoughts_beside_calls_are_kept(harness: Harness) -> None:
    """A passage `<think>…</think>` next to a call stays in the conversation."""
    record = await harness.run(ask(call("Echo_text", OBJECT), text=THOUGHTS), "Polly.")
    _, second = expect_requests(record, 2)
    expect_equal("assistant's text", second.said_by("assistant"), [THOUGHTS])


@MISTAKES.should(
    reason="Endpoints report other reasons than they should, and such an answer is still the model's.",
    hint="Look at the message, not at finish_reason.",
)
async def answers_count_whatever_the_finish_reason(harness: Harness) -> None:
    """A text is the answer, whether the finish reason is `stop`, `length`, `tool_calls`, `eos` or missing."""
    for reason in ("stop", "length", "tool_calls", "eos", None):
        record = await harness.run(say("done", finish_reason=reason), "asked again")
        expect_answer(record, "done")
        expect_requests(record, 1)
