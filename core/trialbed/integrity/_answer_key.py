"""Expected values that a request gave the model, and answers that have no source in their trial."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

from trialbed.evidence import Passages, carries, evidence_values
from trialbed.identity import once_for
from trialbed.records import ApiCall, Json, ModelCall, Query, ToolSpec, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls import MAX_VALUES, canonical, examples_of, holds_last_text, last_turn, replaced, said
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
