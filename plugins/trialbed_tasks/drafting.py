"""Drafts tasks of recorded conversations, for a person to confirm."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbed.conversations import Message, Sample, ToolCall
from trialbed.errors import NothingMeasured, UsageError
from trialbed.plugin_files import file_command
from trialbed.settings import REDACTED, is_secret
from trialbed.tasks import Task, TaskDataset
from trialbed.wire import parse_json, recorded_request
from trialbed.wire.redaction import redact

HEAD = """\
# Drafts of {many}, of {source}. Read each one: is the query whole, are the calls right and all that is
# needed, is the answer true? Add facts that a right answer must say, take out wrong parts, then: bench tasks check
"""

SCRIPTED = "scripted:"

OWN_TOOLS = """\
# Tools that the agent offers: {names}
# An argument that may vary is written {{$any: }}, {{$about: 12.5, within: 0.1}} or {{$one_of: [a, b]}}.
# never: [NAME] under expect forbids a tool.
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


MOST_SECRETS = 200
"""Texts of one conversation that are masked wherever they occur."""

SHORTEST = 4
"""Characters of a text in a field with the name of a key that is masked elsewhere, too."""


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


def check_target(path: Path) -> None:
    """Refuse a file for drafts that is there already, or whose name is not that of YAML.

    Raises:
        UsageError: it is, or is not.
    """
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"-o {path}: give it a name that ends with .yaml")
    if path.exists():
        raise UsageError(f"-o {path}: the file is there already; drafts replace no tasks")


def draft_trial(agent: str, query: str, **settings: Any) -> Draft:
    """Run an agent that brings its tools on a question, and return the task that it was.

    Args:
        agent: ``FILE.py:NAME``, the file of a program in Python, or the command of any program.
        settings: of a run, such as its model.

    Raises:
        NothingMeasured: the agent failed, or asked no model.
        TrialbedError: it could not be run.
    """
    from trialbed.metrics import trial_sample
    from trialbed.preparation import RunObjects, RunOptions
    from trialbed.run_report import run_and_report

    program = shlex.join([sys.executable, agent]) if agent.endswith(".py") else agent
    options = RunOptions(frameworks=(), commands=(file_command(agent) or program,), **settings)
    objects = RunObjects(dataset=TaskDataset([Task(query)]))
    report = asyncio.run(run_and_report(options, objects=objects, documents=False))
    (trial,) = report.trials()
    requests = [recorded_request(call) for call in trial.wire.model_calls]
    if trial.outcome.failure is not None or not requests:
        reason = trial.outcome.failure.message if trial.outcome.failure else "it asked no model"
        raise NothingMeasured(f"{agent}: no task could be drafted: {reason} (bench show {report.run.run_id})")
    offered = list(dict.fromkeys(tool.name for request in requests if request for tool in request.tools))
    answer, missing = trial.outcome.answer, ""
    if options.model[0].startswith(SCRIPTED) and answer is not None:
        answer = answer.model_copy(update={"final_answer": ""})
        missing = "calls, which a scripted model does not choose"
    sample = trial_sample(report.queries[1], trial.wire.own_tools, trial.wire, answer)
    return draft_tasks([replace(sample, place=agent, unrecorded=missing)], agent, offered)


def draft_tasks(samples: Sequence[Sample], source: str, own_tools: Sequence[str] | None = None) -> Draft:
    """Return a task for each conversation whose user asks for something that no earlier one asks for.

    A task has one message of a user, so the calls must all follow one: the query is that message, with those before it.
    The calls that did not fail are expected, and the last answer is the answer. Each tool has the schema that the
    conversations have, or else that of the arguments in them. Texts that look like keys are masked, and texts of fields
    that are named like keys are masked wherever the conversation has them.

    Args:
        source: as the file names it.
        own_tools: the tools that the agent itself brings, so that the file names and does not define them.
    """
    drafts: dict[str, _DraftTurn] = {}
    left_out: list[str] = []
    for sample in samples:
        turn, reason = _asked_turn(sample)
        if turn is None:
            left_out.append(f"{sample.place}: {reason}")
        elif turn.query in drafts:
            left_out.append(f"{sample.place}: its query is that of task {list(drafts).index(turn.query) + 1}")
        else:
            drafts[turn.query] = turn
    many = f"{len(drafts)} {'task' if len(drafts) == 1 else 'tasks'}"
    head = HEAD.format(many=many, source=_json(source)[1:-1])
    tools = "".join(f"  - {_json(tool)}\n" for tool in _tools(drafts.values()))
    blocks = "\n".join("\n".join(_lines(turn)) for turn in drafts.values())
    body = f"tools:\n{tools}" if tools else ""
    if own_tools is not None:
        body = OWN_TOOLS.format(names=_json(", ".join(own_tools) or "none")[1:-1])
    return Draft(redact(f"{head}{body}tasks:\n{blocks}\n"), len(drafts), tuple(left_out))


@dataclass(frozen=True)
class _DraftTurn:
    """A message of a user that calls follow, and what followed until the next one.

    Attributes:
        query: the message, with those before it.
        calls: those that can be expected, with the results of those that have some.
        notes: for the person who confirms the draft.
        hidden: matches the secrets of the conversation.
    """

    sample: Sample
    query: str
    calls: tuple[tuple[ToolCall, Any], ...]
    answer: str
    notes: tuple[str, ...]
    hidden: re.Pattern[str]


def _asked_turn(sample: Sample) -> tuple[_DraftTurn | None, str]:
    """Return the turn of which a task can be made, and else why there is none."""
    turns = _turns(sample.messages or ())
    if not turns:
        return None, f"it has no message of a user, read as {sample.format or 'messages'}"
    called = [place for place, turn in enumerate(turns) if any(one.calls for one in turn)]
    if len(turns) > 1 and len(called) != 1:
        follow = f"calls follow {len(called) or 'none'} of them; a task has one"
        return None, f"its user wrote {len(turns)} messages, and {follow}"
    asked = turns[: called[0] + 1] if called else turns
    results: dict[str, list[tuple[Any, bool]]] = {}
    for one in (one for one in sample.messages or () if one.role == "tool"):
        result: Any = one.content
        with suppress(ValueError):
            result = parse_json(one.content)
        failed = one.failed or (isinstance(result, Mapping) and result.get("isError") is True)  # MCP's flag
        results.setdefault(one.call_id, []).append((result, failed))
    made = []
    for call in sample.calls:
        result, failed = results[call.id].pop(0) if results.get(call.id) else (None, False)
        made.append((call, result, failed or call.args is None or bool(call.problem)))
    secrets = _secrets([[call.args, result] for call, result, _ in made])
    if len(secrets) > MOST_SECRETS:
        return None, f"more than {MOST_SECRETS} texts of it are in fields that are named like keys"
    hidden = re.compile("|".join(map(re.escape, sorted(secrets, key=len, reverse=True))) or "(?!)")
    notes = [f"a failed call of {_json(call.name)[1:-1]} is left out" for call, _, failed in made if failed]
    if len(turns) > 1:
        number = f"number {len(asked)} of its user's {len(turns)} messages"
        notes.insert(0, f"all calls follow {number}, which ends the query")
    query = "\n\n".join(turn[0].content.strip() for turn in asked)
    answers = [one.content.strip() for one in asked[-1] if one.role == "assistant" and not one.calls]
    good = tuple((call, result) for call, result, failed in made if not failed)
    return _DraftTurn(sample, query, good, "".join(answers[-1:]), tuple(notes), hidden), ""


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the turns, each of which a message of the user begins.

    A message while a call is under way is a prompt of the agent's own, such as for another agent.
    """
    results = Counter(one.call_id for one in messages if one.role == "tool")
    under_way: set[str] = set()
    turns: list[list[Message]] = []
    for one in messages:
        under_way |= {call.id for call in one.calls or () if results[call.id]}
        if one.role == "tool":
            results[one.call_id] -= 1
            under_way.discard(one.call_id)
        if one.role == "user" and one.content.strip() and not under_way:
            turns.append([])
        if turns:
            turns[-1].append(one)
    return turns


def _lines(turn: _DraftTurn) -> Iterator[str]:
    yield f"  # {'; '.join((_json(turn.sample.place)[1:-1], *turn.notes))}"
    yield f"  - query: {_json(turn.query, turn.hidden)}"
    if turn.calls or not (turn.sample.calls or turn.sample.unrecorded):
        yield f"    expect: {_json({'calls': [{call.name: call.args} for call, _ in turn.calls]}, turn.hidden)}"
    if turn.answer:
        yield f"    answer: {_json(turn.answer, turn.hidden)}"


def _tools(turns: Iterable[_DraftTurn]) -> Iterator[dict[str, Any]]:
    schemas: dict[str, Mapping[str, Any]] = {}
    made: dict[str, list[ToolCall]] = {}
    examples: dict[str, Any] = {}
    for turn in turns:
        schemas |= turn.sample.tools
        for call, result in turn.calls:
            made.setdefault(call.name, []).append(call)
            if result is not None:
                examples.setdefault(call.name, _mask(result, turn.hidden))
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


def _json(value: Any, hidden: re.Pattern[str] = SHAPES) -> str:
    """Return a value as JSON, which YAML reads as the same value: it has no pairs of surrogates."""
    text = json.dumps(_mask(value, hidden), ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in text)


def _mask(value: Any, hidden: re.Pattern[str]) -> Any:
    """Return a value of JSON without hidden texts, and those that look like keys or whose fields are named so."""
    if isinstance(value, str):
        return SHAPES.sub(REDACTED, hidden.sub(REDACTED, value))
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_key(name, item) else _mask(item, hidden) for name, item in value.items()}
    return [_mask(item, hidden) for item in value] if isinstance(value, list) else value


def _secrets(value: Any) -> set[str]:
    """Return the texts of fields that are named like keys, but for those that are too short to be told from words."""
    if isinstance(value, Mapping):
        own = {item for name, item in value.items() if _is_key(name, item) and len(item) >= SHORTEST}
        return own.union(*map(_secrets, value.values()))
    return set().union(*map(_secrets, value)) if isinstance(value, list) else set()


def _is_key(name: str, value: Any) -> bool:
    plain = name.replace("-", "_")
    return isinstance(value, str) and bool(value) and (plain.lower() in NAMES or is_secret(plain))
