"""Drafts tasks of recorded conversations, for a person to confirm."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.conversations import Sample, ToolCall
from trialbed.wire.redaction import redact

HEAD = """\
# Drafts of {count} tasks, of {source}. Read each one: is the query whole, are the calls right and all that is
# needed, is the answer true? Add facts that a right answer must say, take out what is wrong, then: bench tasks check
"""

TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


@dataclass(frozen=True)
class Draft:
    """A file of drafts.

    Attributes:
        text: its content, YAML.
        tasks: the number of its tasks.
        left_out: the conversations of which no task can be made, with the reasons.
    """

    text: str
    tasks: int
    left_out: tuple[str, ...]


def draft_tasks(samples: Sequence[Sample], source: str) -> Draft:
    """Return a task for each conversation whose user asks for something that no earlier one asks for.

    Its calls are expected as they were made, its last answer is the answer, and each tool has the schema that the
    conversations have, or else that of the arguments in them. Keys are masked.
    """
    queries: dict[str, int] = {}
    left_out: list[str] = []
    used: list[Sample] = []
    blocks: list[str] = []
    for sample in samples:
        query = _first_request(sample)
        broken = next((call for call in sample.calls if call.args is None), None)
        if not query:
            left_out.append(f"{sample.place}: it has no message of a user")
        elif query in queries:
            left_out.append(f"{sample.place}: its query is that of task {queries[query]}")
        elif broken is not None:
            left_out.append(f"{sample.place}: the arguments of {broken.name} are not known: {broken.problem}")
        else:
            queries[query] = len(queries) + 1
            used.append(sample)
            blocks.append("\n".join(_lines(sample, query)))
    tools = "".join(f"  - {_json(tool)}\n" for tool in _tools(used))
    head = HEAD.format(count=len(blocks), source=_json(source)[1:-1])
    body = f"tools:\n{tools}" if tools else ""
    return Draft(redact(f"{head}{body}tasks:\n" + "\n".join(blocks) + "\n"), len(blocks), tuple(left_out))


def _first_request(sample: Sample) -> str:
    return next(
        (one.content.strip() for one in sample.messages or () if one.role == "user" and one.content.strip()), ""
    )


def _lines(sample: Sample, query: str) -> Iterator[str]:
    users = sum(one.role == "user" for one in sample.messages or ())
    more = f"; its user wrote {users} messages, of which this is the first" if users > 1 else ""
    yield f"  # {_json(sample.place)[1:-1]}{more}"
    yield f"  - query: {_json(query)}"
    yield f"    expect: {_json({'calls': [{call.name: call.args} for call in sample.calls]})}"
    answers = [one.content.strip() for one in sample.messages or () if one.role == "assistant" and not one.calls]
    if answers and answers[-1]:
        yield f"    answer: {_json(answers[-1])}"


def _tools(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    schemas: dict[str, Mapping[str, Any]] = {}
    made: dict[str, list[ToolCall]] = {}
    examples: dict[str, Any] = {}
    for sample in samples:
        schemas |= sample.tools
        results = {one.call_id: one.content for one in sample.messages or () if one.role == "tool" and one.call_id}
        for call in sample.calls:
            made.setdefault(call.name, []).append(call)
            if call.id in results and call.name not in examples:
                examples[call.name] = _value(results[call.id])
    for name in dict.fromkeys((*schemas, *made)):
        parameters = schemas.get(name) or _schema_of(made.get(name, ()))
        tool: dict[str, Any] = {"type": "function", "function": {"name": name, "parameters": parameters}}
        yield tool | ({"example": examples[name]} if name in examples else {})


def _schema_of(calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Return the schema that the arguments of some calls have, whose required ones are in all of them."""
    given = [call.args or {} for call in calls]
    values: dict[str, list[Any]] = {}
    for arguments in given:
        for name, value in arguments.items():
            values.setdefault(name, []).append(value)
    return {
        "type": "object",
        "properties": {name: _schema_of_values(seen) for name, seen in values.items()},
        "required": [name for name, seen in values.items() if len(seen) == len(given)],
    }


def _schema_of_values(values: Sequence[Any]) -> dict[str, Any]:
    """Return the schema of the one type that all values have; that of any value where they differ."""
    types = {TYPES.get(type(value), "") for value in values}
    if types == {"integer", "number"}:
        return {"type": "number"}
    return {"type": types.pop()} if len(types) == 1 and "" not in types else {}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(value: Any) -> str:
    """Return a value as JSON, which YAML reads as the same value: it has no pairs of surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in text)
