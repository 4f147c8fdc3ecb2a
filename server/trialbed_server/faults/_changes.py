"""Faults that stand in the answer itself: each changes a right answer, or the chunks of its stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trialbed_server.faults._answers import Completion
from trialbed_server.faults._script import Fault

Chunks = list[dict[str, Any]]


def changed(completion: Completion, fault: Fault) -> Completion:
    """The completion with the fault, where it is one of the completion."""
    change = COMPLETIONS.get(fault.name)
    return completion if change is None else change(completion, fault)


def changed_chunks(chunks: Chunks, fault: Fault) -> Chunks:
    """The chunks with the fault, where it is one of the stream."""
    change = STREAMS.get(fault.name)
    return chunks if change is None else change(json.loads(json.dumps(chunks)))


def changed_document(document: dict[str, Any], fault: Fault) -> dict[str, Any]:
    """The document with the fault, where it is one of a body that is not streamed."""
    change = DOCUMENTS.get(fault.name)
    return document if change is None else change(document)


def _with_calls(completion: Completion, number: int = 1) -> Completion:
    calls = (completion.calls or (completion.spare,)) * number
    return replace(completion, text="", calls=calls, finish_reason="tool_calls")


def _calls(completion: Completion, name: str | None = None, arguments: str | None = None) -> Completion:
    made = _with_calls(completion)
    calls = tuple((name or call, arguments or text) for call, text in made.calls)
    return replace(made, calls=calls)


COMPLETIONS: dict[str, Callable[[Completion, Fault], Completion]] = {
    "no_finish_reason": lambda completion, _: replace(completion, finish_reason=None),
    "finish": lambda completion, fault: replace(completion, finish_reason=fault.settings["reason"]),
    "calls_with_stop": lambda completion, _: replace(_with_calls(completion), finish_reason="stop"),
    "unknown_tool": lambda completion, _: _calls(completion, name="tool_that_was_not_offered"),
    "bad_arguments": lambda completion, _: _calls(completion, arguments='{"broken": '),
    "reasoning": lambda completion, _: replace(completion, reasoning="Let me think about what is asked for here."),
    "null_usage": lambda completion, _: replace(
        completion, usage={**(completion.usage or {}), "completion_tokens": None}
    ),
    "no_index": lambda completion, _: _with_calls(completion, 2),
    "name_fragments": lambda completion, _: _with_calls(completion, 2),
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
    first = _choices(document)[0]
    return {**document, "choices": [first, {**first, "index": 1}]}


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
    """The name in two pieces: the second half comes with a chunk of its own."""
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


def _doubled(chunks: Chunks) -> Chunks:
    return [
        {**chunk, "choices": [*chunk["choices"], *({**choice, "index": 1} for choice in chunk["choices"])]}
        for chunk in chunks
    ]


STREAMS: dict[str, Callable[[Chunks], Chunks]] = {
    "usage_in_choice": _usage_in_last_choice,
    "no_choices": lambda chunks: [{**chunk, "choices": []} for chunk in chunks],
    "null_message": _null_delta,
    "no_index": _without_index,
    "name_fragments": _fragmented,
    "two_choices": _doubled,
    "truncated": lambda chunks: chunks[: len(chunks) // 2],
}
