"""Changes right answers, and the chunks of their streams, into faulty ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trialbed.wire import Call
from trialbed_scripted.faults._answers import Answer
from trialbed_scripted.faults._behaviours import BEHAVIOURS, behaving
from trialbed_scripted.faults._script import Fault

Chunks = list[dict[str, Any]]


def changed(answer: Answer, fault: Fault) -> Answer:
    """The answer with the fault, if it is one of what the answer says."""
    if fault.name in BEHAVIOURS:
        return behaving(answer, fault)
    change = CHANGES.get(fault.name)
    return answer if change is None else change(answer, fault)


def changed_chunks(chunks: Chunks, fault: Fault) -> Chunks:
    """The chunks with the fault, if it is one of the stream."""
    change = STREAMS.get(fault.name)
    return chunks if change is None else change(json.loads(json.dumps(chunks)))


def changed_document(document: dict[str, Any], fault: Fault) -> dict[str, Any]:
    """The document with the fault, if it is one of a body that is not streamed."""
    change = DOCUMENTS.get(fault.name)
    return document if change is None else change(document)


def repeated_document(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with this many choices."""
    return {**document, "choices": _repeated(_choices(document), number)}


def repeated_chunks(chunks: Chunks, number: int) -> Chunks:
    """The chunks with this many choices."""
    return [{**chunk, "choices": _repeated(chunk["choices"], number)} for chunk in chunks]


def _repeated(choices: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    return [{**choice, "index": index} for index in range(number) for choice in choices]


def _with_calls(answer: Answer, number: int = 1) -> Answer:
    calls = (answer.calls or (answer.spare,)) * number
    return replace(answer, text="", calls=calls, finish_reason="tool_calls")


def _calls(answer: Answer, name: str | None = None, arguments: str | None = None) -> Answer:
    made = _with_calls(answer)
    return replace(made, calls=tuple(Call(name or call.name, arguments or call.arguments) for call in made.calls))


CHANGES: dict[str, Callable[[Answer, Fault], Answer]] = {
    "no_finish_reason": lambda answer, _: replace(answer, finish_reason=None),
    "finish": lambda answer, fault: replace(answer, finish_reason=fault.settings["reason"]),
    "calls_with_stop": lambda answer, _: replace(_with_calls(answer), finish_reason="stop"),
    "unknown_tool": lambda answer, _: _calls(answer, name="tool_that_was_not_offered"),
    "bad_arguments": lambda answer, _: _calls(answer, arguments='{"broken": '),
    "reasoning": lambda answer, _: replace(answer, reasoning="Let me think about what is asked for here."),
    "null_usage": lambda answer, _: replace(answer, usage={**(answer.usage or {}), "completion_tokens": None}),
    "no_index": lambda answer, _: _with_calls(answer, 2),
    "name_fragments": lambda answer, _: _with_calls(answer, 2),
}


def _choices(document: dict[str, Any]) -> list[dict[str, Any]]:
    choices: list[dict[str, Any]] = document["choices"]
    return choices


def _null_message(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "choices": [{**_choices(document)[0], "message": None}]}


def _usage_in_choice(document: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in document.items() if key != "usage"}
    return {**rest, "choices": [{**_choices(document)[0], "usage": document.get("usage")}]}


def _two_choices(document: dict[str, Any]) -> dict[str, Any]:
    return repeated_document(document, 2)


DOCUMENTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "null_message": _null_message,
    "no_choices": lambda document: {**document, "choices": []},
    "usage_in_choice": _usage_in_choice,
    "two_choices": _two_choices,
}


def _usage_in_last_choice(chunks: Chunks) -> Chunks:
    *rest, last = chunks
    rest[-1]["choices"][0]["usage"] = last["usage"]
    return rest


def _null_delta(chunks: Chunks) -> Chunks:
    for chunk in chunks:
        for choice in chunk["choices"]:
            choice["delta"] = None
    return chunks


def _pieces(chunks: Chunks) -> list[dict[str, Any]]:
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"]]
    return [piece for delta in deltas for piece in delta.get("tool_calls") or ()]


def _without_index(chunks: Chunks) -> Chunks:
    for piece in _pieces(chunks):
        del piece["index"]
    return chunks


def _fragmented(chunks: Chunks) -> Chunks:
    """Sends each name in two pieces; the second half comes with a chunk of its own."""
    whole: Chunks = []
    for chunk in chunks:
        whole.append(chunk)
        for piece in _pieces([chunk]):
            name = piece["function"].get("name")
            if name:
                piece["function"]["name"] = name[: len(name) // 2]
                rest = {"index": piece["index"], "function": {"name": name[len(name) // 2 :]}}
                choice = {**chunk["choices"][0], "delta": {"tool_calls": [rest]}}
                whole.append({**chunk, "choices": [choice]})
    return whole


STREAMS: dict[str, Callable[[Chunks], Chunks]] = {
    "usage_in_choice": _usage_in_last_choice,
    "no_choices": lambda chunks: [{**chunk, "choices": []} for chunk in chunks],
    "null_message": _null_delta,
    "no_index": _without_index,
    "name_fragments": _fragmented,
    "two_choices": lambda chunks: repeated_chunks(chunks, 2),
    "truncated": lambda chunks: chunks[: len(chunks) // 2],
}
