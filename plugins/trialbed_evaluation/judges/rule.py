"""The judge that needs no model."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Any

from trialbed.contracts import STATUS_VALUES, AnswerStatus, Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.evidence import Passages, carries, evidence_values
from trialbed.records import Answer, ApiCall, ApiRef, Json, Query, WireLog
from trialbed_evaluation.judges import without_answer

if TYPE_CHECKING:
    from trialbed_evaluation.judges.llm import ModelJudge

_KEY = re.compile(r"""[{,]\s*(?:"([^"\n]{1,80})"|'([^'\n]{1,80})')\s*:""")
"""A key of an object in JSON, or as Python writes it."""

_OPENING = re.compile(r"[{\[]")

_SIGN = re.compile(r'[{}\[\]]|"(?:\\.|[^"\\])*+"?', re.DOTALL)
"""A bracket, or a text in quotes; brackets in quotes do not count."""

WRAPPING = frozenset(("error", "response"))
"""Keys of the virtual API's own answers."""


def prose(answer: str, responses: Iterable[Any]) -> str:
    """Return the answer without raw copies of responses, which are objects and lists in JSON or Python syntax.

    A copy may be truncated. Facts in an object of the agent's own count as stated.

    Args:
        responses: of the calls that were made.
    """
    if not _OPENING.search(answer):
        return answer
    known = WRAPPING.union(*map(_keys, responses))
    kept, last = [], 0
    for start, end in _blocks(answer):
        keys = {first or second for first, second in _KEY.findall(answer[start:end])}
        if keys and len(keys & known) * 2 >= len(keys):
            kept.append(answer[last:start])
            last = end
    return "\n".join([*kept, answer[last:]]) if kept else answer


def _keys(response: Any) -> Collection[str]:
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return {first or second for first, second in _KEY.findall(text)}


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each outermost bracketed part; the last one may be truncated."""
    end = 0
    while opening := _OPENING.search(text, end):
        start, end, depth = opening.start(), len(text), 0
        for sign in _SIGN.finditer(text, start):
            depth += (sign[0] in "{[") - (sign[0] in "}]")
            if not depth:
                end = sign.end()
                break
        yield start, end


ASKS_FOR_DATA = re.compile(r"\b(?:json|raw (?:data|response|output))\b", re.IGNORECASE)


@dataclass(frozen=True)
class Unit:
    """One thing that an answer must say, and whether it does."""

    name: str
    carried: bool


class RuleJudge(Judge):
    """Solved if a finished answer states all required units, Unsure if it states some, Unsolved otherwise.

    It must state the query's reference facts. Without reference facts, it must state the responses of its expected APIs
    on the wire, each by any value that is not already in the query's text or the call's arguments. An expected API
    without a successful call does not count as stated. Facts that the answer denies, or that occur only in a raw copy
    of a response, do not count either. An agent that did not finish, gave up or had only failed calls is Unsolved. A
    rule always votes the same, so it votes once.
    """

    _asking: ModelJudge | None = None

    @property
    def about(self) -> Mapping[str, Json]:
        """The version of the rules, which a calibration is about."""
        return {"judge": "rule", "rules": 3}

    def calibration(self) -> Mapping[str, Json]:
        """Return its agreement with the labelled cases that come with Trialbed, measured once for these rules."""
        text = files("trialbed_evaluation.judges").joinpath("rule_calibration.json").read_text(encoding="utf-8")
        return {**json.loads(text), "votes": self.votes, "at": ""}

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Grade the answer; never raises."""
        return await asyncio.to_thread(_judge, query, answer, wire) if answer.is_long else _judge(query, answer, wire)

    async def meets(self, criterion: str, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        """Ask the model of ``--judge-model`` whether a criterion is met, because no rule can decide that.

        Raises:
            JudgeError: there is no model, or it gives no usable verdict.
        """
        if self.endpoint is None:
            raise JudgeError("a rule cannot read criteria; name a model that does as --judge-model")
        if self._asking is None:
            from trialbed_evaluation.judges.llm import ModelJudge  # only criteria are asked of a model

            self._asking = ModelJudge(self.endpoint, votes=self.votes)
            self._asking.model = self.model
        return await self._asking.meets(criterion, query, answer, wire)

    async def close(self) -> None:
        """Close the connections to the model that reads criteria."""
        if self._asking is not None:
            await self._asking.close()


def _judge(query: Query, answer: Answer, wire: WireLog) -> Verdict:
    unsolved = without_answer(answer) or _without_result(query, wire)
    if unsolved:
        return _verdict("Unsolved", unsolved)
    text = answer.final_answer
    if not ASKS_FOR_DATA.search(query.text):
        text = prose(text, (call.response for call in wire.api_calls))
    if not text.strip(" \n\t`"):
        return _verdict("Unsolved", "the answer is only a raw copy of the responses")
    units = _units(query, text, wire)
    if text == answer.final_answer or all(unit.carried for unit in units):
        return _grade(units)
    return _grade(
        [_as_copied(one, other) for one, other in zip(units, _units(query, answer.final_answer, wire), strict=True)]
    )


def _as_copied(unit: Unit, of_whole_answer: Unit) -> Unit:
    """Rename a unit that occurs only in a copied response, which does not count as stated."""
    if unit.carried or not of_whole_answer.carried:
        return unit
    return Unit(f"{unit.name} (it stands only in a raw copy of a response, and copies do not count)", carried=False)


def _without_result(query: Query, wire: WireLog) -> str | None:
    """Explain why a correct answer had no basis; None if it had."""
    calls = wire.api_calls
    if calls and all(call.error for call in calls) and (query.gold_calls or query.reference_facts):
        return "the only call failed" if len(calls) == 1 else "every call failed"
    return None


def _grade(units: Sequence[Unit]) -> Verdict:
    missing = [unit.name for unit in units if not unit.carried]
    if not units:
        return _verdict("Solved", "the task asks for no evidence and the agent answered")
    if not missing:
        return _verdict("Solved", f"the answer contains all {len(units)} required units")
    status: AnswerStatus = "Unsure" if len(missing) < len(units) else "Unsolved"
    return _verdict(status, f"the answer lacks {len(missing)} of {len(units)} required units: {'; '.join(missing)}")


def _units(query: Query, text: str, wire: WireLog) -> list[Unit]:
    if query.reference_facts:
        return [Unit(f"the fact {fact!r}", carries(text, fact)) for fact in query.reference_facts]
    return [_response_unit(ref, query, text, wire) for ref in query.gold_apis]


def _response_unit(ref: ApiRef, query: Query, text: str, wire: WireLog) -> Unit:
    calls = [call for call in wire.api_calls if call.api == ref]
    if not calls:
        return Unit(f"{ref.title} (never called)", carried=False)
    good = [call for call in calls if not call.error]
    if not good:
        return Unit(f"{ref.title} (every call failed)", carried=False)
    values = (value for call in good for value in _telling(call, query))
    first = next(values, None)
    # A response that says nothing new leaves nothing to hold the answer to; that it was fetched must do.
    said = first is None or any(carries(text, value) for value in chain((first,), values))
    return Unit(f"the response of {ref.title}", said)


def _telling(call: ApiCall, query: Query) -> Iterable[str]:
    """Return the values of a response that cannot be known without it."""
    given = Passages([" ".join([query.text, *evidence_values(call.arguments)])])
    return (value for value in evidence_values(call.response) if not given.mention(value))


def _verdict(status: AnswerStatus, reason: str) -> Verdict:
    return Verdict(status=status, value=STATUS_VALUES[status], reason=reason, votes=(status,))
