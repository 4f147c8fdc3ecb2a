"""The problems of a trial, as seen at the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from trialbed.attribution import attribute, unrequested_calls
from trialbed.integrity import finding_text
from trialbed.records import shown_name
from trialbed.tool_calls import asked_calls, call_sources, compare_calls
from trialbed.wire_log import failed

if TYPE_CHECKING:
    from trialbed.records import ApiCall, Json, ModelCall, Query, ToolSpec, TrialResult
    from trialbed.tool_calls import CallSource


HARMLESS = frozenset({"required_choice", "added_tool", "unwritten_answer"})
"""Findings that lower no score."""

TOLD = frozenset({"unasked_call", "invented_claim"})
"""Findings that stand among the calls and the claims."""


NOT_ASKED = {
    "forced": "was called, as the request left the model no other call",
    "dictated": "was called, as the request had told the model to",
    "changed": "was called with arguments that the model did not write",
}
"""Origin of a call -> why it is not the model's."""


@dataclass(frozen=True)
class TrialProblem:
    """One thing that went wrong.

    Attributes:
        where: ``request 2`` or ``requests 3 to 9`` (of the model), ``call 1`` (of an Api), ``trial``, ``answer``,
            ``claims`` or ``expected``.
        what: what went wrong, and why as far as that is known.
        details: what belongs to it, by name: the arguments that were sent, those that would have been right.
    """

    where: str
    what: str
    details: tuple[tuple[str, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The problem as JSON."""
        return {**asdict(self), "details": dict(self.details)}


def problems(result: TrialResult, tools: Sequence[ToolSpec], query: Query | None) -> list[TrialProblem]:
    """Everything that went wrong, in the order in which it can be read: as it happened, then what came of it.

    Args:
        tools: that the trial was offered.
        query: the task with its expected calls, where it is known.
    """
    return [
        *_ending(result),
        *_of_requests(result.wire.model_calls),
        *_of_calls(result, tools, query),
        *_lost_calls(result),
        *_missing(result, tools, query),
        *_of_answer(result),
        *_of_claims(result),
        *_of_integrity(result),
    ]


def _ending(result: TrialResult) -> Iterator[TrialProblem]:
    failure = result.outcome.failure
    if failure is not None:
        yield TrialProblem("trial", f"{result.status} ({failure.kind}): {failure.message}")


def _of_requests(calls: Sequence[ModelCall]) -> Iterator[TrialProblem]:
    """The problems of each request; of those refused by a limit, one after the other, of the first."""
    place = 0
    for refused, group in groupby(calls, key=lambda call: call.cause == "limit"):
        first, *others = group
        if refused and others:
            yield from _of_request(f"requests {place + 1} to {place + 1 + len(others)}", first)
        else:
            for number, call in enumerate((first, *others), place + 1):
                yield from _of_request(f"request {number}", call)
        place += 1 + len(others)


def _of_request(where: str, call: ModelCall) -> Iterator[TrialProblem]:
    if failed(call):
        cause = f" ({call.cause})" if call.cause else ""
        yield TrialProblem(where, f"failed{cause}{_by_fault(call)}: {call.error or f'status {call.status}'}")
    for sent in call.tool_calls:
        if sent.problem is not None:
            what = f"the model's call of {sent.name} could not be made: {problem_words(sent.problem)}"
            yield TrialProblem(where, what, (("sent", sent.arguments),))
    for written in call.text_calls:
        what = f"the model wrote a call of {written.name} as text instead of sending it; it is never made"
        yield TrialProblem(where, what, (("written", written.arguments),))
    if call.finish_reason == "length":
        yield TrialProblem(where, "the model's answer was cut at the limit of tokens")


def _of_calls(result: TrialResult, tools: Sequence[ToolSpec], query: Query | None) -> Iterator[TrialProblem]:
    without = unrequested_calls(result, tools)
    unasked = {id(call) for call in without}
    sources = call_sources(result.wire, tools) if unasked else ()
    changed = {(call.api, call.started): call.sent for call in asked_calls(result.wire, tools, without) if call.sent}
    for place, call in enumerate(result.wire.api_calls, 1):
        where = f"call {place}"
        if not call.offered:
            yield TrialProblem(where, f"{api_name(call)} was not offered in this trial")
        if call.error or call.status != 200:
            reason = (call.error or f"status {call.status}").strip()
            by_model = changed.get((call.api, call.started))
            asked = (("asked", by_model),) if by_model else ()
            details = (*asked, ("sent", as_text(call.arguments)), *_gold_arguments(call, query))
            what = "was changed by the framework, and refused" if by_model else "was refused"
            yield TrialProblem(where, f"{api_name(call)} {what}{_by_fault(call)}: {reason}", details)
        elif id(call) in unasked:
            yield _not_asked(where, call, sources[place - 1])


def _by_fault(call: ApiCall | ModelCall) -> str:
    """Say that a failure was put in on purpose, where it was: a delay alone makes nothing fail."""
    kind = fault_words(call)
    return f", by an injected fault ({kind})" if kind not in ("", "slow") else ""


def problem_words(problem: str) -> str:
    """Return why a call of the model could not be made, as it is written."""
    return problem.replace("invalid json", "invalid JSON")


def fault_words(call: ApiCall | ModelCall) -> str:
    """Return the kind of the fault that was put in, in words; empty where there was none."""
    return (call.fault or "").partition(":")[0].replace("_", " ")


def _not_asked(where: str, call: ApiCall, source: CallSource) -> TrialProblem:
    """The problem of a call on which the model did not decide; of one that was changed, with both arguments."""
    what = NOT_ASKED.get(source.origin, "was called, though no answer of the model asked for it")
    asked = source.sent.arguments if source.sent is not None and source.origin == "changed" else None
    details = () if asked is None else (("asked", asked), ("sent", as_text(call.arguments)))
    return TrialProblem(where, f"{api_name(call)} {what}", details)


def _gold_arguments(call: ApiCall, query: Query | None) -> Iterator[tuple[str, str]]:
    """The arguments with which the query is solved, where the dataset has them."""
    for gold in query.gold_calls if query else ():
        if gold.api.pair == call.api.pair and gold.arguments is not None:
            yield "expected", as_text(gold.arguments)


def _lost_calls(result: TrialResult) -> Iterator[TrialProblem]:
    for lost in result.wire.lost:
        detail = f": {lost.detail}" if lost.detail else ""
        yield TrialProblem("expected", f"{lost.tool} could not be called ({lost.reason}){detail}")
    for filled in result.wire.filled:
        what = f"{filled.tool}: the optional argument {filled.argument} was offered as required, and made up"
        yield TrialProblem("expected", what, (("value", as_text(filled.value)),))


def _missing(result: TrialResult, tools: Sequence[ToolSpec], query: Query | None) -> Iterator[TrialProblem]:
    """The expected calls that were lost, each with where and why, and the Apis that were called unexpectedly."""
    score = result.score("api_call_score")
    detail = score.detail if score is not None else {}
    if query is not None:
        yield from _lost_gold(result, tools, query)
    else:
        names = {call.tool_name for one in result.wire.model_calls for call in one.tool_calls}
        asked = {tool.api.pair for tool in tools if tool.name in names}
        for pair in detail.get("missing") or ():
            end = "; it was asked for, and never made" if tuple(pair) in asked else ", and was never called"
            yield TrialProblem("expected", f"{_api(pair)} is expected{end}")
    for pair in detail.get("extra") or ():
        yield TrialProblem("expected", f"{_api(pair)} was called, and is not expected")


def _api(pair: Iterable[object]) -> str:
    """Return the name of an Api: the tool that it is of, where it has one, and its own."""
    return "/".join(str(name) for name in pair if name)


def _lost_gold(result: TrialResult, tools: Sequence[ToolSpec], query: Query) -> Iterator[TrialProblem]:
    refused = {call.api.pair for call in result.wire.api_calls if call.error or call.status != 200}
    for found in attribute(query, tools, result, unrequested_calls(result, tools)):
        pair = found.gold.api.pair
        # A call that the Api refused stands among the calls, with the arguments that are expected.
        if found.lost is None or (pair in refused and found.lost in ("wrong arguments", "api failed")):
            continue
        details = () if found.gold.arguments is None else (("expected", as_text(found.gold.arguments)),)
        # The failure itself stands first of all.
        is_failure = found.lost == "trial failed" and found.reason.startswith("before ")
        why = (
            f"the trial failed {found.reason.partition(' (')[0]}"
            if is_failure
            else f"{found.lost}: {problem_words(found.reason)}"
        )
        yield TrialProblem("expected", f"{_api(pair)}: {why}", details)


def _of_answer(result: TrialResult) -> Iterator[TrialProblem]:
    answer = result.outcome.answer
    if answer is not None and answer.finish is None:
        yield TrialProblem("answer", "the agent did not finish by itself")
    if answer is not None and answer.finish == "give_up_and_restart":
        yield TrialProblem("answer", "the agent gave up")
    redundant = result.score("redundant_calls")
    if redundant is not None and redundant.value:
        calls = "1 call" if redundant.value == 1 else f"{redundant.value:g} calls"
        yield TrialProblem("trial", f"{calls} repeated an earlier one that had succeeded")
    for score in result.scores:
        if score.failure is not None:
            # An agent that asks no model, or one of its own, has no tokens to be counted: that is nothing wrong.
            if score.failure.kind != "model" or result.wire.model_calls:
                what = f"{shown_name(score.name)} could not be determined: {score.failure.message}"
                yield TrialProblem("score", what)
        elif score.name == "sopr_score" and score.label not in (None, "Solved"):
            reason = score.detail.get("reason")
            yield TrialProblem("answer", f"{score.label}" + (f": {reason}" if reason else ""))


def _of_claims(result: TrialResult) -> Iterator[TrialProblem]:
    answer = result.outcome.answer
    if answer is None or not answer.reports_calls:
        return
    found = compare_calls(answer, result.wire)
    for pair in found.invented:
        yield TrialProblem("claims", f"{'/'.join(filter(None, pair))} is claimed, and was never called in this way")
    for pair in found.unreported:
        yield TrialProblem("claims", f"{'/'.join(filter(None, pair))} was called, and is not claimed in this way")


def _of_integrity(result: TrialResult) -> Iterator[TrialProblem]:
    """Yield the findings by which the trial scores less, as far as no other problem is about them."""
    for found in result.integrity or ():
        if found.kind not in HARMLESS and found.kind not in TOLD:
            yield TrialProblem("trial", finding_text(found))


def end_text(result: TrialResult) -> str:
    """Return how a trial ended: its status, in words where it ended without failure and without an answer."""
    answer = result.outcome.answer
    is_empty = result.status == "answered" and answer is not None and not answer.final_answer.strip()
    return "ended without an answer" if is_empty else result.status


def api_name(call: ApiCall) -> str:
    """The Api of a call as it is shown."""
    return "/".join(filter(None, call.api.pair))


def as_text(value: Json | Mapping[str, Any]) -> str:
    """A value as JSON; a text that is not JSON as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
