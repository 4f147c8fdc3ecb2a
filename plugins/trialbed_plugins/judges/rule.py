"""The judge that needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.evidence import carries, carries_fact, evidence_values
from trialbed.records import Answer, ApiCall, ApiRef, Query, WireLog


@dataclass(frozen=True)
class Unit:
    """One thing that an answer must say, and whether it does."""

    name: str
    carried: bool


class RuleJudge(Judge):
    """Solved if a finished answer contains all required units, Unsure if it contains some, Unsolved if none.

    What it must say are the query's reference facts, or where it has none, the responses of its gold Apis on
    the wire: of each, any value that neither the query's text nor the call's arguments gave away. A gold Api
    that was never called with success is not said. An agent that did not finish or gave up is Unsolved.
    A rule always votes the same, so it votes once.
    """

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer; never raises."""
        if answer.finish is None:
            return _verdict("Unsolved", "the agent did not finish")
        if answer.finish != "give_answer":
            return _verdict("Unsolved", "the agent gave up")
        if not answer.final_answer.strip():
            return _verdict("Unsolved", "the answer is empty")
        return _graded(_units(query, answer.final_answer, wire))


def _graded(units: Sequence[Unit]) -> Verdict:
    missing = [unit.name for unit in units if not unit.carried]
    if not units:
        return _verdict("Solved", "the query asks for no evidence and the agent answered")
    if not missing:
        return _verdict("Solved", f"the answer contains all {len(units)} required units")
    status: AnswerStatus = "Unsure" if len(missing) < len(units) else "Unsolved"
    return _verdict(status, f"the answer lacks {len(missing)} of {len(units)} required units: {'; '.join(missing)}")


def _units(query: Query, text: str, wire: WireLog) -> list[Unit]:
    if query.reference_facts:
        return [Unit(f"the fact {fact!r}", carries_fact(text, fact)) for fact in query.reference_facts]
    return [_response_unit(ref, query, text, wire) for ref in query.gold_apis]


def _response_unit(ref: ApiRef, query: Query, text: str, wire: WireLog) -> Unit:
    calls = [call for call in wire.api_calls if call.api == ref]
    if not calls:
        return Unit(f"{ref.title} (never called)", carried=False)
    good = [call for call in calls if not call.error]
    if not good:
        return Unit(f"{ref.title} (every call failed)", carried=False)
    values = [value for call in good for value in _telling(call, query)]
    # A response that says nothing new leaves nothing to hold the answer to; that it was fetched must do.
    return Unit(f"the response of {ref.title}", not values or carries(text, values))


def _telling(call: ApiCall, query: Query) -> Iterable[str]:
    """The evidence of a response that could not be known without it."""
    given = " ".join([query.text, *evidence_values(call.arguments)])
    return (value for value in evidence_values(call.response) if not carries(given, (value,)))


def _verdict(status: AnswerStatus, reason: str) -> Verdict:
    return Verdict(status=status, value=STATUS_VALUES[status], reason=reason, votes=(status,))
