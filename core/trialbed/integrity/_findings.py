"""The findings of one trial: expected values that a request gave the model, answers without a source, and more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice, zip_longest
from typing import Any

from trialbed.evidence import Passages, carries, evidence_values
from trialbed.identity import once_for
from trialbed.records import (
    ApiCall,
    IntegrityFinding,
    IntegrityKind,
    Json,
    ModelCall,
    Outcome,
    Query,
    ToolSpec,
    WireLog,
)
from trialbed.texts import json_leaves
from trialbed.tool_calls import (
    MAX_VALUES,
    call_sources,
    canonical,
    compare_calls,
    ends_unseen,
    examples_of,
    holds_last_text,
    invented_calls,
    is_forced,
    last_turn,
    replaced,
    said,
)
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire_log import failed

SHORTEST = 4
"""Characters of a value that is looked for."""

CODE = re.compile(r"(?=[^0-9]{0,99}[0-9])(?=[^A-Za-z]{0,99}[A-Za-z])\S{5,100}")
"""An identifier, which suffices alone. A name or a number may occur in any prompt, two of them do not."""


def answer_key(query: Query, wire: WireLog, tools: Sequence[ToolSpec] = ()) -> tuple[str, ...]:
    """Return the expected arguments and reference facts that a request has and that nothing before it in the trial has.

    The task, the user's messages, its Apis' documentation, results and the model's answers do not have them either, so
    the framework knows them from the dataset. Empty for a single name or number, which may be in a prompt by chance.
    """
    documented, left = _unknown_gold(query, tools)
    if wire.turns and left:
        by_user = Passages(_user_words(query, wire))
        left = tuple(value for value in left if not by_user.mention(value))
    found: list[str] = []
    seen, before_it = set(documented), dict[str, Json]()
    # The model's words and the values of results, the first last, each read when its time comes.
    unread: list[ModelCall | ApiCall] = [*wire.model_calls, *wire.api_calls]
    unread.sort(key=end_of, reverse=True)
    for turn in sorted(wire.model_calls, key=lambda turn: turn.started):
        # First by what is quickly read: mostly, a request is left with nothing that is worth a search in it.
        while left and unread and end_of(unread[-1]) <= turn.started:
            last = unread.pop()
            known = Passages([_values(last)] if isinstance(last, ApiCall) else model_words(last))
            left = tuple(value for value in left if not known.mention(value))
        if not left:
            break
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        new = {*_texts([*_new_parts(request.document, before_it)])} - seen
        seen |= new
        before_it = dict(request.document)
        shown = Passages(new)
        if given := [value for value in left if shown.mention(value)]:
            earlier = [[call.response, call.error] for call in wire.api_calls if end_of(call) <= turn.started]
            results = Passages(_texts(earlier))
            found += [value for value in given if not results.mention(value)]
            left = tuple(value for value in left if value not in given)
    return tuple(found) if len(found) > 1 or any(CODE.fullmatch(value) for value in found) else ()


@once_for(128)
def _unknown_gold(query: Query, tools: Sequence[ToolSpec]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return all texts of a task and its Apis' documentation, and the expected values that they lack."""
    left = unnamed_gold(query)
    if not left:
        return frozenset(), ()
    documents: list[Json] = [[tool.name, tool.description, tool.parameters] for tool in tools]
    known = frozenset([query.text, *_texts([*documents, *(api.model_dump(mode="json") for api in query.apis)])])
    documented = Passages(known)
    return known, tuple(value for value in left if not documented.mention(value))


@once_for(128)
def unnamed_gold(query: Query) -> tuple[str, ...]:
    """Return the expected values that a task does not name itself; without any, no documentation is read."""
    values = [value for call in query.gold_calls for value in evidence_values(examples_of(call.arguments or {}))]
    gold = [value for value in [*values, *query.reference_facts][:MAX_VALUES] if len(value) >= SHORTEST]
    task = Passages([query.text])
    return tuple(value for value in dict.fromkeys(gold) if not task.mention(value))


def _new_parts(document: Mapping[str, Json], earlier: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the parts of a request that an earlier one lacks in the same place; most requests repeat the rest."""
    for name, value in document.items():
        known = earlier.get(name)
        if isinstance(value, list) and isinstance(known, list):
            yield from (item for item, old in zip_longest(value, known[: len(value)]) if item != old)
        elif value != known:
            yield value


def _values(call: ApiCall) -> str:
    return " ".join(evidence_values(call.response))


def end_of(call: ModelCall | ApiCall) -> float:
    """Return the time a request was answered, in seconds since the trial was opened."""
    return call.started + call.duration


def model_words(turn: ModelCall) -> Iterator[str]:
    """Yield everything that the model wrote in an answer, such as text, thoughts and the arguments of calls."""
    if not failed(turn):
        answer = recorded_answer(turn).answer
        yield from filter(None, (answer.text, answer.reasoning, answer.refusal))
        yield from (sent.arguments for sent in (*turn.tool_calls, *turn.text_calls))


def _texts(value: Any) -> list[str]:
    return [str(leaf) for leaf in json_leaves(value) if leaf is not None]


def _user_words(query: Query, wire: WireLog) -> list[str]:
    return [query.text, *(turn.text for turn in wire.turns[1:])]


PROGRAM = ("```", "<code>", "<|python")
"""Marks of an answer that is a program; its result is in the answer but not in the model's words."""

CUT = "…[cut: "
"""Begins the mark of a body that the log keeps only in part."""


@once_for(8)
def unsourced(query: Query, answer: str, wire: WireLog) -> str:
    """Return why an answer has no source in the trial; empty if it has one.

    A reference fact needs an Api's result, or the model's own words. If the model ended with other words than the
    answer, only the model's words count, because a framework may answer alone after the model gave up. Words that only
    repeat a request's text are not a source.

    Args:
        wire: with the calls that count.
    """
    # A fact that the model knows from the framework alone.
    results_alone = Passages(chain(_user_words(query, wire), map(_values, wire.api_calls)))
    facts = [fact for fact in query.reference_facts if carries(answer, fact)]
    unknown = [fact for fact in facts if not results_alone.mention(fact)]
    key = answer_key(query, wire) if unknown else ()
    if given := next((fact for fact in unknown if fact in key), ""):
        return f"the answer says {given!r}, which no tool returned, and which a request gave the model"
    last, shown = last_turn(wire), " ".join(answer.split())
    if not wire.model_calls or (last is not None and any(shown in text for text in said(last))):
        return ""  # the model's last text, or a part of it
    if any(CUT in turn.response for turn in wire.model_calls):
        return ""
    is_program = last is not None and (bool(last.text_calls) or any(mark in last.response for mark in PROGRAM))
    own = (replaced(answer, wire) or _calls_on(wire)) and not is_program
    words = [text for turn in wire.model_calls for text in model_words(turn)]
    results = [] if own else [_values(call) for call in wire.api_calls if not call.error]
    sources = Passages([*_user_words(query, wire), *words, *results])
    for fact in facts:
        if not sources.mention(fact):
            no_api = "" if own else " and no tool returned it"
            return f"the answer says {fact!r}, but no answer of the model says so{no_api}"
    among_others = bool(wire.own_tools) and holds_last_text(answer, wire)
    if own and not among_others and not query.reference_facts and _only_results(query, answer, wire, words):
        return "the answer has the tools' results, but the model ended without any of them in its words"
    return ""


def _calls_on(wire: WireLog) -> bool:
    """Return whether the model ended in a loop, with repeated calls that an Api had already answered."""
    last = last_turn(wire)
    if last is None or not last.tool_calls:
        return False
    made = Counter(canonical(call.arguments) for call in wire.api_calls if not call.error and call.status == 200)
    return all(made[canonical(call.arguments)] > 1 for call in last.tool_calls)


def _only_results(query: Query, answer: str, wire: WireLog, words: Iterable[str]) -> bool:
    """Return whether the answer has values of results, and none of them is in the model's words."""
    known, said_by_model, shown = Passages(_user_words(query, wire)), Passages(words), Passages([answer])
    found = False
    for call in wire.api_calls:
        for value in islice(evidence_values(call.response), MAX_VALUES) if not call.error else ():
            if shown.mention(value) and not known.mention(value):
                if said_by_model.mention(value):
                    return False
                found = True
    return found


EXAMPLES = 5
"""Names of one kind that are kept."""

LONGEST = 100
"""Characters of a name."""

REFUSALS: dict[IntegrityKind, bool] = {"other_model": True, "other_model_answered": False}
"""Kind of finding on a request for another model -> whether it was refused."""

OLD_FIELDS = frozenset({"functions", "function_call"})
"""Fields for tools in a chat completion before ``tools`` existed."""

CALLS: dict[str, IntegrityKind] = {
    "forced": "forced_call",
    "dictated": "dictated_call",
    "changed": "changed_call",
    "none": "unasked_call",
}
"""Origin of a call that does not count -> kind of finding."""


def integrity_findings(
    query: Query,
    tools: Sequence[ToolSpec],
    outcome: Outcome,
    wire: WireLog,
    outside: Sequence[ModelCall | ApiCall] = (),
    *,
    in_process: bool = False,
) -> tuple[IntegrityFinding, ...]:
    """Return what bears on the integrity of a trial, by kinds.

    Args:
        outside: the requests outside of the agent's time.
        in_process: the agent is an object of the caller's process, which may ask a model that the gateway does not see:
            nothing is said of its calls and its answer.
    """
    found: dict[IntegrityKind, Sequence[str]] = {}
    for kind, refused in REFUSALS.items():
        found[kind] = [call.other_model for call in wire.model_calls if call.other_model and failed(call) == refused]
    found["added_header"] = [name for call in wire.model_calls for name in call.added]
    found |= _requests(wire, tools)
    origins = [] if in_process else [origin for origin, _ in call_sources(wire, tools)]
    kinds = {origin: kind for origin, kind in CALLS.items() if origin != "forced" or not query.allow_forced_calls}
    if not in_process:
        for origin, kind in kinds.items():
            found[kind] = [call.api.title for call, own in zip(wire.api_calls, origins, strict=True) if own == origin]
        found["invented_call"] = invented_calls(wire, query, tools)
        found["answer_key"] = answer_key(query, wire, tools)
    found["outside_clock"] = ["the model" if isinstance(call, ModelCall) else call.api.title for call in outside]
    answer = outcome.answer
    if answer is not None and outcome.failure is None:
        if not in_process and wire.model_calls:
            counted = wire  # the same object if all calls count
            if not kinds.keys().isdisjoint(origins):
                calls = (call for call, own in zip(wire.api_calls, origins, strict=True) if own not in kinds)
                counted = wire.model_copy(update={"api_calls": tuple(calls)})
            if unsourced(query, answer.final_answer, counted):
                found["unsourced_answer"] = [] if ends_unseen(query, tools, wire) else [""]
            elif replaced(answer.final_answer, counted) and not holds_last_text(answer.final_answer, counted):
                found["unwritten_answer"] = [""]
        if answer.reports_calls:
            found["invented_claim"] = [": ".join(filter(None, pair)) for pair in compare_calls(answer, wire).invented]
    # All but these have a name for each that is counted.
    counts: dict[IntegrityKind, int] = {"added_header": sum(bool(call.added) for call in wire.model_calls)}
    findings = []
    for kind, names in found.items():
        if names:
            examples = tuple(name[:LONGEST] for name in dict.fromkeys(filter(None, names)))[:EXAMPLES]
            findings.append(IntegrityFinding(kind=kind, count=counts.get(kind, len(names)), examples=examples))
    return tuple(findings)


def _requests(wire: WireLog, tools: Sequence[ToolSpec]) -> dict[IntegrityKind, Sequence[str]]:
    """Return the choices that requests leave the model, and the tools that they add."""
    found: dict[IntegrityKind, list[str]] = {"old_functions": [], "required_choice": [], "forced_choice": []}
    added, offered = dict[str, None](), None
    seen: dict[frozenset[str], list[str]] = {}
    names = {tool.name for tool in tools}
    for turn in wire.model_calls:
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        if not OLD_FIELDS.isdisjoint(request.document):
            found["old_functions"].append("")
        if is_forced(request, len(tools)):
            found["forced_choice"].append(request.tool_choice.name or next(iter(request.names), ""))
        elif request.tool_choice.mode in ("required", "any"):
            found["required_choice"].append("")
        unchanged, offered = request.document.get("tools") == offered, request.document.get("tools")
        if unchanged or request.names <= names:
            continue
        if request.names not in seen:
            from trialbed.wire.offers import Offers  # most requests offer the trial's tools alone

            # The functions that stand for no tool of the trial.
            offers, others = Offers(tools, request.tools), [function.name for function in request.tools]
            seen[request.names] = [name for name in others if name not in names and offers.tool(name) is None]
        added.update(dict.fromkeys(seen[request.names]))
    # If all tools are the agent's own, no tool is an addition to others.
    own = {tool.name for tool in wire.own_tools}
    return {**found, "added_tool": [] if names <= own else list(added)}


ALLOWANCE = 0.25
"""Seconds that a worker's message may be late before a request counts as outside of its time."""

Opening = tuple[datetime, datetime]
"""The times just before and just after a trial was opened, between which the server's clock of it began."""


def outside_clock(outcome: Outcome, wire: WireLog, opening: Opening) -> tuple[Outcome, Sequence[ModelCall | ApiCall]]:
    """Find requests that were sent after the agent's time had ended, or answered before it began.

    An agent that works when its answer is read, or when it is closed, works after its time. A request that may lie on
    either side of a boundary counts as within. A delayed executor reads both messages late, and the agent may then have
    begun earlier. The difference is at most the time between the end of its last request and the reading of the second
    message. If the executor saw no end, no request is outside.

    Returns:
        The outcome, and the requests in order. If there are any, the outcome's wall time reaches from the first to the
        last of them.
    """
    if outcome.ended_at is None:
        return outcome, ()
    before, after = ((outcome.ended_at - opened).total_seconds() for opened in opening)
    ended, began = before + ALLOWANCE, after - outcome.wall_time - ALLOWANCE
    every: list[ModelCall | ApiCall] = [*wire.model_calls, *wire.api_calls]
    calls = sorted(every, key=lambda call: call.started)
    last = max((end_of(call) for call in calls if call.started <= ended), default=ended)
    began = min(began, last - outcome.wall_time - ALLOWANCE)
    outside = [call for call in calls if call.started > ended or end_of(call) < began]
    if outside:
        first = min(before - outcome.wall_time, outside[0].started)
        wall_time = max(before, *map(end_of, outside)) - first
        outcome = outcome.model_copy(update={"wall_time": wall_time})
    return outcome, outside
