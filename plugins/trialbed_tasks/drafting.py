"""Drafts tasks of recorded conversations, for a person to confirm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.conversations import Sample, ToolCall
from trialbed.settings import REDACTED, is_secret
from trialbed.wire import lenient_json
from trialbed.wire.redaction import redact

HEAD = """\
# Drafts of {many}, of {source}. Read each one: is the query whole, are the calls right and all that is
# needed, is the answer true? Add facts that a right answer must say, take out what is wrong, then: bench tasks check
"""

TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}

SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,200}"
    r"|gh[opsru]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}"
    r"|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,200}"
    r"|eyJ[A-Za-z0-9_-]{10,200}\.[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,1000}"
    r"|(?i:bearer) [A-Za-z0-9._~+/=-]{12,2000}"
)
"""Keys of OpenAI and vendors like it, GitHub, AWS, Google and Slack, signed tokens, and bearer tokens."""

NAMES = ("authorization", "apikey")
"""Names of fields that hold a key, beside those that a variable with a key may have."""


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

    Of its first turn, the calls that did not fail are expected, and the last answer is the answer. Each tool has the
    schema that the conversations have, or else that of the arguments in them. What looks like a key is masked.
    """
    drafts: dict[str, _DraftTurn] = {}
    left_out: list[str] = []
    for sample in samples:
        turn = _first_turn(sample)
        if not turn.query:
            left_out.append(f"{sample.place}: it has no message of a user")
        elif turn.query in drafts:
            left_out.append(f"{sample.place}: its query is that of task {list(drafts).index(turn.query) + 1}")
        else:
            drafts[turn.query] = turn
    many = f"{len(drafts)} {'task' if len(drafts) == 1 else 'tasks'}"
    head = HEAD.format(many=many, source=_json(source)[1:-1])
    tools = "".join(f"  - {_json(tool)}\n" for tool in _tools(drafts.values()))
    blocks = "\n".join("\n".join(_lines(turn)) for turn in drafts.values())
    body = f"tools:\n{tools}" if tools else ""
    return Draft(redact(f"{head}{body}tasks:\n{blocks}\n"), len(drafts), tuple(left_out))


@dataclass(frozen=True)
class _DraftTurn:
    """The first turn of a conversation: the request of its user, and what followed until the next one.

    Attributes:
        calls: those that can be expected, with the results of those that have some.
        failed: names of the tools whose calls failed, or could not be read.
    """

    sample: Sample
    query: str
    calls: tuple[tuple[ToolCall, Any], ...]
    failed: tuple[str, ...]
    answer: str
    turns: int


def _first_turn(sample: Sample) -> _DraftTurn:
    messages = list(sample.messages or ())
    places = [place for place, one in enumerate(messages) if one.role == "user" and one.content.strip()]
    first = messages[places[0] : places[1] if len(places) > 1 else None] if places else []
    made = sample.calls if len(places) < 2 else [call for one in first for call in one.calls or ()]
    answered = [one for one in first if one.role == "tool" and one.call_id]
    results = {one.call_id: lenient_json(one.content, one.content) for one in answered}
    good = [(call, results.get(call.id)) for call in made if not _has_failed(call, results.get(call.id))]
    failed = [call.name for call in made if _has_failed(call, results.get(call.id))]
    answers = [one.content.strip() for one in first if one.role == "assistant" and not one.calls]
    query = first[0].content.strip() if first else ""
    return _DraftTurn(sample, query, tuple(good), tuple(failed), answers[-1] if answers else "", len(places))


def _has_failed(call: ToolCall, result: Any) -> bool:
    """Return whether a call could not be read, or was answered with an error as tools usually write one."""
    if call.args is None or call.problem:
        return True
    if isinstance(result, Mapping):
        return bool(result.get("error"))
    return isinstance(result, str) and result.lstrip().lower().startswith("error")


def _lines(turn: _DraftTurn) -> Iterator[str]:
    notes = [_json(turn.sample.place)[1:-1]]
    if turn.turns > 1:
        notes.append(f"its user wrote {turn.turns} messages, of which this is the first")
    notes += [f"a failed call of {_json(name)[1:-1]} is left out" for name in turn.failed]
    yield f"  # {'; '.join(notes)}"
    yield f"  - query: {_json(turn.query)}"
    yield f"    expect: {_json({'calls': [{call.name: call.args} for call, _ in turn.calls]})}"
    if turn.answer:
        yield f"    answer: {_json(turn.answer)}"


def _tools(turns: Iterable[_DraftTurn]) -> Iterator[dict[str, Any]]:
    schemas: dict[str, Mapping[str, Any]] = {}
    made: dict[str, list[ToolCall]] = {}
    examples: dict[str, Any] = {}
    for turn in turns:
        schemas |= turn.sample.tools
        for call, result in turn.calls:
            made.setdefault(call.name, []).append(call)
            if result is not None:
                examples.setdefault(call.name, result)
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


def _json(value: Any) -> str:
    """Return a value as JSON, which YAML reads as the same value: it has no pairs of surrogates."""
    text = json.dumps(_mask(value), ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in text)


def _mask(value: Any) -> Any:
    """Return a value of JSON without what looks like a key, and without the texts of fields that are named so."""
    if isinstance(value, str):
        return SHAPES.sub(REDACTED, value)
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_key(name, item) else _mask(item) for name, item in value.items()}
    return [_mask(item) for item in value] if isinstance(value, list) else value


def _is_key(name: str, value: Any) -> bool:
    plain = name.replace("-", "_")
    return isinstance(value, str) and bool(value) and (plain.lower() in NAMES or is_secret(plain))
