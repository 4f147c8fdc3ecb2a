"""Gold values that a request gave the model before anything in the trial had them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, zip_longest
from typing import Any

from trialbed.evidence import Passages, evidence_values
from trialbed.integrity._encoded import decoded_texts
from trialbed.records import Json, ModelCall, Query, ToolSpec, WireLog
from trialbed.texts import json_leaves
from trialbed.tool_calls import MAX_VALUES
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire_log import failed

SHORTEST = 4
"""Characters of a value that is looked for."""

SHORT = 50_000
"""Characters of a documentation that is read once for the trials of its task; to keep it takes fifty times as much."""

CODE = re.compile(r"(?=[^0-9]{0,99}[0-9])(?=[^A-Za-z]{0,99}[A-Za-z])\S{5,100}")
"""An identifier, of which one says enough: a name or a number may stand in any prompt, two of them do not."""


def answer_key(query: Query, wire: WireLog, tools: Sequence[ToolSpec] = ()) -> tuple[str, ...]:
    """Return the gold arguments and reference facts that a request has and that nothing before it in the trial has.

    Neither the task, the documentation of its Apis, a result nor an answer of the model has them: the framework knows
    them from the dataset. None where it is one name or number alone, which may stand in a prompt by chance.
    """
    documented = dict.fromkeys(_documentation(query, tools))
    known = (_read_short if sum(map(len, documented)) <= SHORT else _read_documentation)(tuple(documented))
    left = [value for value in dict.fromkeys(_gold(query)) if not known.mention(value)]
    found: list[str] = []
    seen, before_it = set(documented), dict[str, Json]()
    sources = list(_sources(wire)) if left else []
    for turn in sorted(wire.model_calls, key=lambda turn: turn.started) if left else ():
        request = recorded_request(turn)
        if request is None or failed(turn):
            continue
        new = {text for part in _new_parts(request.document, before_it) for text in _texts(part)} - seen
        seen |= new
        before_it = dict(request.document)
        shown = Passages(_with_decoded(new))
        if given := [value for value in left if shown.mention(value)]:
            before = [source for time, source in sources if time <= turn.started]
            found += [value for value in given if not any(source.mention(value) for source in before)]
            left = [value for value in left if value not in given]
    return tuple(found) if len(found) > 1 or any(CODE.fullmatch(value) for value in found) else ()


def _gold(query: Query) -> Iterator[str]:
    values = [value for call in query.gold_calls for value in evidence_values(call.arguments)]
    return (value for value in islice([*values, *query.reference_facts], MAX_VALUES) if len(value) >= SHORTEST)


def _read_documentation(texts: tuple[str, ...]) -> Passages:
    return Passages(_with_decoded(texts))


@lru_cache(maxsize=64)
def _read_short(texts: tuple[str, ...]) -> Passages:
    return _read_documentation(texts)


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


def _sources(wire: WireLog) -> Iterator[tuple[float, Passages]]:
    """Yield all that Apis returned and that the model wrote, each with the time at which it was complete."""
    for call in wire.api_calls:
        values = " ".join(evidence_values(call.response))
        texts = [*_with_decoded(_texts([call.response, call.error])), values]
        yield call.started + call.duration, Passages(texts)
    for turn in wire.model_calls:
        yield turn.started + turn.duration, Passages(model_words(turn))


def model_words(turn: ModelCall) -> Iterator[str]:
    """Yield all that the model wrote in an answer: its text, its thoughts, and the arguments of its calls."""
    if not failed(turn):
        answer = recorded_answer(turn).answer
        yield from filter(None, (answer.text, answer.reasoning, answer.refusal))
        yield from (sent.arguments for sent in (*turn.tool_calls, *turn.text_calls))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text and number in a value."""
    return (leaf if isinstance(leaf, str) else str(leaf) for leaf in json_leaves(value) if leaf is not None)


def _with_decoded(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts, and those that are encoded in them."""
    for text in texts:
        yield text
        yield from decoded_texts(text)
