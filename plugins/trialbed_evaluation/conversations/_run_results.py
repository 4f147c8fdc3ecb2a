"""Reads result documents, as ``bench run`` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.errors import DataError
from trialbed_evaluation.conversations._calls import items, kind
from trialbed_evaluation.conversations._messages import calls_in
from trialbed_evaluation.conversations._stabletoolbench import answer_messages
from trialbed_evaluation.conversations._types import Sample, ToolCall

FORMAT = "trialbed"


def is_result_document(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a result document."""
    return isinstance(value.get("results"), list) and "summary" in value and "metadata" in value


def read_result_document(value: Mapping[str, Any], place: str) -> Iterator[Sample]:
    """Yield the samples of a document: the calls that its agents claim, compared with the expected Apis by name.

    A trial that failed made no calls that count.

    Raises:
        DataError: an entry is malformed; names the key.
    """
    for index, entry in enumerate(value["results"]):
        at = f"{place}: results[{index}]"
        if not isinstance(entry, Mapping):
            raise DataError(f"{at}: must be an object, not {kind(entry)}")
        yield _sample(entry, at)


def _sample(entry: Mapping[str, Any], place: str) -> Sample:
    details = entry.get("answer_details")
    answer = {"answer_details": details if details is not None else [], "final_answer": _final(entry)}
    messages = answer_messages(answer, place, entry.get("query_text") or "")
    calls = calls_in(messages)
    if not calls:
        # Agents that do not report their calls: those that the server saw, of which the document has the names.
        calls = tuple(ToolCall(name, None) for name in _titles(entry, "called_apis", place))
    goal = entry.get("gold_answer")
    return Sample(
        id=str(entry.get("query_id", place)),
        place=place,
        format=FORMAT,
        messages=messages,
        calls=calls,
        reference=tuple(ToolCall(name, None) for name in _titles(entry, "gold_apis", place)),
        reference_goal=(goal.get("final_answer") or None) if isinstance(goal, Mapping) else None,
        other={key: entry[key] for key in ("repeat", "status", "error") if key in entry},
    )


def _final(entry: Mapping[str, Any]) -> Any:
    answer = entry.get("system_answer")
    return entry.get("final_answer", answer.get("final_answer") if isinstance(answer, Mapping) else "")


def _titles(entry: Mapping[str, Any], key: str, place: str) -> list[str]:
    titles = []
    for index, pair in enumerate(items(entry.get(key, []), f"{place}.{key}")):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise DataError(f"{place}.{key}[{index}]: must be [tool_name, api_name], not {pair!r}")
        titles.append(f"{pair[0]}_{pair[1]}")
    return titles
