"""The sources of an answer: the model's words, and the Apis' results."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from trialbed.evidence import Passages, carries_fact, evidence_values
from trialbed.identity import once_for
from trialbed.integrity._answer_key import answer_key, model_words
from trialbed.records import ModelCall, Query, WireLog
from trialbed.tool_calls import MAX_VALUES, last_turn, replaced, said

CODE = ("```", "<code>", "<|python")
"""Marks of an answer that is a program, whose result is in the answer and not in the model's words."""

CUT = "…[cut: "
"""Begins the mark of a body of which the log keeps a part."""


@once_for(8)
def unsourced(query: Query, answer: str, wire: WireLog) -> str:
    """Return why an answer is not the trial's: it has no source in it. Empty where it has one.

    A reference fact needs an Api's result, or the model's own words. Where the model ended with words of its own, and
    the answer is another text, the model's words alone count: where the model gave up, a framework answers by itself.
    Words that repeat only what a request gave the model are no source.

    Args:
        wire: with the calls that count.
    """
    if given := _given_away(query, answer, wire):
        return f"the answer says {given!r}, which no Api returned, and which a request gave the model"
    if _is_said(answer, wire) or any(CUT in turn.response for turn in wire.model_calls):
        return ""
    own = replaced(answer, wire) and not _is_program(last_turn(wire))
    words = [text for turn in wire.model_calls for text in model_words(turn)]
    results = [] if own else [" ".join(evidence_values(call.response)) for call in wire.api_calls if not call.error]
    sources = Passages([query.text, *words, *results])
    for fact in query.reference_facts:
        if carries_fact(answer, fact) and not sources.mention(fact):
            no_api = "" if own else " and no Api returned it"
            return f"the answer says {fact!r}, but no answer of the model says so{no_api}"
    if own and not query.reference_facts and _only_results(query, answer, wire, words):
        return "the answer has the Apis' results, but the model ended with other words, which have none of them"
    return ""


def _given_away(query: Query, answer: str, wire: WireLog) -> str:
    """Return a fact in the answer that the model knows from the framework alone; empty where there is none."""
    results = Passages([query.text, *(" ".join(evidence_values(call.response)) for call in wire.api_calls)])
    facts = [fact for fact in query.reference_facts if carries_fact(answer, fact) and not results.mention(fact)]
    key = answer_key(query, wire) if facts else ()
    return next((fact for fact in facts if fact in key), "")


def _is_said(answer: str, wire: WireLog) -> bool:
    """Return whether the answer is the text with which the model ended, or a part of it."""
    last, shown = last_turn(wire), " ".join(answer.split())
    return not wire.model_calls or (last is not None and any(shown in text for text in said(last)))


def _is_program(turn: ModelCall | None) -> bool:
    return turn is not None and (bool(turn.text_calls) or any(mark in turn.response for mark in CODE))


def _only_results(query: Query, answer: str, wire: WireLog, words: Iterable[str]) -> bool:
    """Return whether the answer has values of results, and none of them is in the model's words."""
    known, said_by_model, shown = Passages([query.text]), Passages(words), Passages([answer])
    found = False
    for call in wire.api_calls:
        for value in islice(evidence_values(call.response), MAX_VALUES) if not call.error else ():
            if shown.mention(value) and not known.mention(value):
                if said_by_model.mention(value):
                    return False
                found = True
    return found
