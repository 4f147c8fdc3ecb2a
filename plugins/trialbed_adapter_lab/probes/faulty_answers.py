"""Observe how users see a model's mistakes, and the framework's words to the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from trialbed.records import Failure, Json
from trialbed.texts import one_line
from trialbed.wire import lenient_json
from trialbed_adapter_lab.differences import without_varying_parts
from trialbed_adapter_lab.harness import DETAILED_USAGE, Harness, ObservedRequest, TrialRecord
from trialbed_adapter_lab.probe import CheckFailed, Probe, Theme
from trialbed_adapter_lab.trials import QUERY, play, refuse, run_without_waits, stations, without_message
from trialbed_scripted import Line, ModelTurn, Response, ask, call, forever, say

FAULTY_MODELS = Theme(
    "faulty_answers", "Observe how users see a model's mistakes, and the framework's words to the model."
)

STEPS, FEW = 30, 3
"""Requests that a trial gets: more than any framework's own limit, and fewer."""

PATIENCE, PATIENCE_OF_THREADS = 60.0, 20.0
"""Seconds for a trial, which pass quickly on the kit's loop, and for one in a thread, which has no clock to put
forward."""

LONGEST = 300
"""Characters of a text that are kept."""

TOOLS, CALLS = 4, 2

FINAL_TEXT, CUT_TEXT = "The stations measured what was expected.", "The stations meas"
"""The answer of the model after its fault, and an answer that was cut."""

ARGUMENTS = json.dumps({"instrument": "gauge", "day": "Wed"})
"""The arguments of a call that is correct except for its syntax."""

TOOL = "Station_0000_Report"
WRITTEN_CALL = f'{{"name": "{TOOL}", "arguments": {ARGUMENTS}}}'


def _call(
    arguments: str = ARGUMENTS, name: str = TOOL, finish: str = "tool_calls", text: str | None = None
) -> ModelTurn:
    return ask(call(name, arguments, "call_faulty_1"), text=text, finish_reason=finish)


def _text(text: str | None, finish: str = "stop", **more: Any) -> ModelTurn:
    # With a reason of its own, a text is never changed into a call of the adapter's finish tool.
    return say(text, finish_reason=finish, **more)


def _overloaded(request: ObservedRequest) -> Response:
    return Response.document(request.spoken.write_error("the model is overloaded", "server_error"))


FAULTY_ANSWERS: dict[str, Line] = {
    "arguments cut by the length limit": _call('{"instrument": "gau', finish="length"),
    "arguments that are a list": _call("[1]"),
    "arguments that are a text": _call('"text"'),
    "arguments that are empty": _call(""),
    "arguments that are null": _call("null"),
    "arguments that are encoded twice": _call(json.dumps(ARGUMENTS)),
    "arguments as Python writes them": _call(str(json.loads(ARGUMENTS))),
    "arguments in a fence": _call(f"```json\n{ARGUMENTS}\n```"),
    "arguments with a comma too many": _call(ARGUMENTS[:-1] + ",}"),
    "a tool name in another case": _call(name=TOOL.lower()),
    "a tool name in a namespace": _call(name=f"functions.{TOOL}"),
    "a call in tags of its text": _text(f"<tool_call>\n{WRITTEN_CALL}\n</tool_call>"),
    "a call as its text": _text(WRITTEN_CALL),
    "thoughts in tags and a call": _call(text="<think>A tool is needed.</think>"),
    "a text and a call": _call(text="Let me look."),
    "a call with the finish reason stop": _call(finish="stop"),
    "a text with the finish reason eos": _text(FINAL_TEXT, "eos"),
    "a text with the finish reason of calls": _text(FINAL_TEXT, "tool_calls"),
    "details of its tokens": _text(FINAL_TEXT, usage=DETAILED_USAGE),
    "a number of 5,000 digits": _call(f'{{"instrument": {"9" * 5000}, "day": "Wed"}}'),
    "an empty text": _text(""),
    "no text and no call": _text(None),
    "a text cut by the length limit": _text(CUT_TEXT, "length"),
    "no text, by the length limit": _text(None, "length"),
    "a text cut by the content filter": _text(CUT_TEXT, "content_filter"),
    "a refusal": _text(None, refusal="I cannot help with that."),
    "an answer without choices": without_message,
    "an error with status 200": _overloaded,
}
"""The fault of the model's first answer -> that answer."""


CASES: dict[str, str | Sequence[Line]] = {
    "arguments that are not JSON": "bad-json",
    **{title: [answer, forever(say(FINAL_TEXT))] for title, answer in FAULTY_ANSWERS.items()},
    "arguments against the schema, once": "retry",
    "arguments against the schema, always": "wrong-args",
    "a tool that is not offered": "unknown-tool",
    "a tool that is not needed": "extra",
    "no call at all": "none",
    "gives up after a call": "giveup",
    **{f"status {status} once": [refuse(status), forever(say(FINAL_TEXT))] for status in (429, 500)},
    **{f"status {status} always": [refuse(status)] * STEPS for status in (429, 500)},
    **{f"status {status}": [refuse(status)] * STEPS for status in (400, 401, 403)},
    "calls without end": "loop",
    f"status 403 after {FEW} requests": "loop",
}
"""Title of a mistake -> the policy or the lines of a model that makes it."""

NO_CALLS = (
    *("arguments cut by the length limit", "arguments that are a list"),
    *("arguments that are a text", "arguments that are encoded twice", "arguments as Python writes them"),
    *("arguments in a fence", "arguments with a comma too many", "a tool name in another case"),
    *("a tool name in a namespace", "a call in tags of its text", "a call as its text"),
)
"""Cases without a call; a framework that makes one has guessed it."""


async def _meet(title: str, harness: Harness) -> Json:
    """Run the trial of a case; return the view of the framework's user, and the words that went back to the model."""
    tools, script = stations(TOOLS, CALLS)
    case = CASES[title]
    trial = harness.prepare(
        *(play(case, tools, script, STEPS + 1) if isinstance(case, str) else case),
        tools=tools,
        query=QUERY,
        max_steps=FEW if str(FEW) in title.split() else STEPS,
        timeout=PATIENCE if harness.is_async else PATIENCE_OF_THREADS,
    )
    try:
        words, text = _see(await run_without_waits(harness, trial), harness.agent_class.finish_tool)
    except CheckFailed:
        words, text = "waits", ""
    refused = sum(request.refused for request in trial.requests)
    counts = f"{len(trial.requests) - refused}{f' + {refused} refused' * bool(refused)}"
    guessed = f", {len(trial.calls)} guessed" if trial.calls and title in NO_CALLS else ""
    # The result of a call of the model's first answer, unless an Api has written it.
    reply = "" if trial.calls else next(iter(_results(trial.requests[1:])), "")
    texts = {"the model is told": reply, "in these words": "" if words == "answer" else text}
    shown: dict[str, Json] = {"the user sees": f"{words} ({counts}){guessed}"}
    return shown | {name: one_line(without_varying_parts(text), LONGEST) for name, text in texts.items() if text}


def _see(record: TrialRecord, finish_tool: str) -> tuple[str, str]:
    """Return the exception or the kind of answer that ended a trial, and its text."""
    if record.failure is not None:
        return exception_type(record.failure) or f"{record.failure.kind} failed", record.failure.message
    text = record.answer.final_answer if record.answer else ""
    turns = [request.said for request in record.requests if request.said is not None]
    said = [turn.text or "" for turn in turns]
    for end in (one for turn in turns for one in turn.calls if one.name == finish_tool):
        written = lenient_json(end.arguments)
        said += map(str, written.values()) if isinstance(written, dict) else []
    errors = [request.error for request in record.requests if request.error]
    sources = {
        "answer": said,
        "error text as answer": [*errors, *(text for error in errors if text in error)],
        "tool result as answer": _results(record.requests),
    }
    found = (kind for kind, parts in sources.items() if any(part.strip() and part.strip() in text for part in parts))
    return (next(found, "other text as answer") if text.strip() else "empty answer"), text


def _results(requests: Iterable[ObservedRequest]) -> list[str]:
    return [text for request in requests for _, text in request.results]


def exception_type(failure: Failure) -> str:
    """Return the type of the exception that the agent raised, with its module; empty if it raised none."""
    if failure.kind not in ("agent", "model", "answer", "memory"):
        return ""
    named = re.match(r"([A-Za-z_]\w*)(?::|$)", failure.message)
    found: list[str] = re.findall(
        r"^(?:  \| )*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?::.*)?$", failure.detail, re.MULTILINE
    )
    exact = [name for name in found if named and name.rpartition(".")[2] == named[1]]
    qualified = [name for name in found if "." in name]
    return (exact or qualified or [named[1] if named else ""])[-1]


REASON = "All models make mistakes, and their users see different things with each framework."

FAULTY = tuple(
    Probe(
        re.sub(r"\W+", "_", title).lower(),
        "info",
        f"{title[0].upper()}{title[1:]}.",
        REASON,
        "",
        partial(_meet, title),
        theme=FAULTY_MODELS.name,
    )
    for title in CASES
)
"""The probes of a model that makes mistakes, one for each case."""
