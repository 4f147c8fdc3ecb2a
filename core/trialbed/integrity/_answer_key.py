"""Gold values that a request gave the model before anything in the trial had them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from trialbed.evidence import Passages, evidence_values
from trialbed.integrity._encoded import decoded_texts
from trialbed.records import ModelCall, Query, ToolSpec, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls import MAX_VALUES
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire_log import failed

SHORTEST = 4
"""Characters of a value that is looked for."""

CODE = re.compile(r"(?=[^0-9]{0,99}[0-9])(?=[^A-Za-z]{0,99}[A-Za-z])\S{5,100}")
"""An identifier, of which one says enough: a name or a number may stand in any prompt, two of them do not."""


def answer_key(query: Query, wire: WireLog, tools: Sequence[ToolSpec] = ()) -> tuple[str, ...]:
    """Return the gold arguments and reference facts that a request has and that nothing before it in the trial has.

    Neither the task, the documentation of its Apis, a result nor an answer of the model has them: the framework knows
    them from the dataset. None where it is one name or number alone, which may stand in a prompt by chance.
    """
    known = [query.text, *_documentation(query, tools)]
    left = [value for value in dict.fromkeys(_gold(query)) if not Passages(known).mention(value)]
    found: list[str] = []
    seen: set[str] = set()
    for turn in sorted(wire.model_calls, key=lambda turn: turn.started) if left else ():
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        new = set(_texts(dict(request.document))) - seen
        seen |= new
        shown, before = Passages(new), Passages(_earlier(wire, turn.started))
        given = [value for value in left if shown.mention(value) and not before.mention(value)]
        found += given
        left = [value for value in left if value not in given and not before.mention(value)]
    return tuple(found) if len(found) > 1 or any(CODE.fullmatch(value) for value in found) else ()


def _gold(query: Query) -> Iterator[str]:
    values = [value for call in query.gold_calls for value in evidence_values(call.arguments)]
    return (value for value in islice([*values, *query.reference_facts], MAX_VALUES) if len(value) >= SHORTEST)


def _documentation(query: Query, tools: Sequence[ToolSpec]) -> Iterator[str]:
    for api in query.apis:
        yield from _texts(api.model_dump(mode="json"))
    for tool in tools:
        yield from _texts([tool.name, tool.description, tool.parameters])


def _earlier(wire: WireLog, time: float) -> Iterator[str]:
    """Yield all that Apis had returned and that the model had written at a time."""
    for call in wire.api_calls:
        if call.started + call.duration <= time:
            yield from _texts([call.response, call.error])
            yield " ".join(evidence_values(call.response))
    for turn in wire.model_calls:
        if turn.started + turn.duration <= time:
            yield from model_words(turn)


def model_words(turn: ModelCall) -> Iterator[str]:
    """Yield all that the model wrote in an answer: its text, its thoughts, and the arguments of its calls."""
    if not failed(turn):
        answer = recorded_answer(turn).answer
        yield from filter(None, (answer.text, answer.reasoning, answer.refusal))
        yield from (sent.arguments for sent in (*turn.tool_calls, *turn.text_calls))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text and number in a value, and the texts that are encoded in them."""
    for leaf in json_leaves(value):
        if isinstance(leaf, str):
            yield leaf
            yield from decoded_texts(leaf)
        elif leaf is not None:
            yield str(leaf)
