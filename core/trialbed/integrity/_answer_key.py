"""Expected values that a request gave the model before anything in the trial had them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, zip_longest
from operator import itemgetter
from typing import Any

from trialbed.evidence import Passages, evidence_values
from trialbed.identity import once_for
from trialbed.integrity._encoded import decoded_texts
from trialbed.records import ApiCall, Json, ModelCall, Query, ToolSpec, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls import MAX_VALUES
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire_log import failed

SHORTEST = 4
"""Characters of a value that is looked for."""

CODE = re.compile(r"(?=[^0-9]{0,99}[0-9])(?=[^A-Za-z]{0,99}[A-Za-z])\S{5,100}")
"""An identifier, of which one says enough: a name or a number may stand in any prompt, two of them do not."""


def answer_key(query: Query, wire: WireLog, tools: Sequence[ToolSpec] = ()) -> tuple[str, ...]:
    """Return the expected arguments and reference facts that a request has and that nothing before it in the trial has.

    Neither the task, the documentation of its Apis, a result nor an answer of the model has them: the framework knows
    them from the dataset. None where it is one name or number alone, which may stand in a prompt by chance.
    """
    documented, left = _unknown_gold(query, tools)
    found: list[str] = []
    seen, before_it = set(documented), dict[str, Json]()
    # The model's words and the values of results, the first last, each read when its time comes.
    unread = [(_end(turn), model_words(turn)) for turn in wire.model_calls]
    unread += [(_end(call), _result_values(call)) for call in wire.api_calls]
    unread.sort(key=itemgetter(0), reverse=True)

    @cache
    def result(place: int) -> Passages:
        """Everything in a result, in whatever form."""
        call = wire.api_calls[place]
        return Passages(_with_decoded(_texts([call.response, call.error])))

    for turn in sorted(wire.model_calls, key=lambda turn: turn.started):
        # First by what is quickly read: mostly, a request is left with nothing that is worth a search in it.
        while left and unread and unread[-1][0] <= turn.started:
            known = Passages(unread.pop()[1])
            left = tuple(value for value in left if not known.mention(value))
        if not left:
            break
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        new = {*_texts([*_new_parts(request.document, before_it)])} - seen
        seen |= new
        before_it = dict(request.document)
        shown = Passages(_with_decoded(new))
        if given := [value for value in left if shown.mention(value)]:
            earlier = [place for place, call in enumerate(wire.api_calls) if _end(call) <= turn.started]
            found += [value for value in given if not any(result(place).mention(value) for place in earlier)]
            left = tuple(value for value in left if value not in given)
    return tuple(found) if len(found) > 1 or any(CODE.fullmatch(value) for value in found) else ()


@once_for(128)
def _unknown_gold(query: Query, tools: Sequence[ToolSpec]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the texts of a task and of the documentation of its Apis, and the expected values that they lack."""
    documented = dict.fromkeys(_documentation(query, tools))
    known = Passages(_with_decoded(documented))
    return frozenset(documented), tuple(value for value in dict.fromkeys(_gold(query)) if not known.mention(value))


def _gold(query: Query) -> Iterator[str]:
    values = [value for call in query.gold_calls for value in evidence_values(call.arguments)]
    return (value for value in islice([*values, *query.reference_facts], MAX_VALUES) if len(value) >= SHORTEST)


def _documentation(query: Query, tools: Sequence[ToolSpec]) -> Iterator[str]:
    yield query.text
    for api in query.apis:
        yield from _texts(api.model_dump(mode="json"))
    for tool in tools:
        yield from _texts([tool.name, tool.description, tool.parameters])


def _new_parts(document: Mapping[str, Json], earlier: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the parts of a request that an earlier one does not have at their place; most repeat all that was said."""
    for name, value in document.items():
        known = earlier.get(name)
        if isinstance(value, list) and isinstance(known, list):
            yield from (item for item, old in zip_longest(value, known[: len(value)]) if item != old)
        elif value != known:
            yield value


def _result_values(call: ApiCall) -> Iterator[str]:
    yield " ".join(evidence_values(call.response))


def _end(call: ModelCall | ApiCall) -> float:
    return call.started + call.duration


def model_words(turn: ModelCall) -> Iterator[str]:
    """Yield all that the model wrote in an answer: its text, its thoughts, and the arguments of its calls."""
    if not failed(turn):
        answer = recorded_answer(turn).answer
        yield from filter(None, (answer.text, answer.reasoning, answer.refusal))
        yield from (sent.arguments for sent in (*turn.tool_calls, *turn.text_calls))


def _texts(value: Any) -> list[str]:
    """Return every text and number in a value."""
    return [leaf if isinstance(leaf, str) else str(leaf) for leaf in json_leaves(value) if leaf is not None]


def _with_decoded(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts, and those that are encoded in them."""
    for text in texts:
        yield text
        yield from decoded_texts(text)
