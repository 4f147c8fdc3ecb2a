"""Draft tasks from recorded conversations, for a person to confirm."""

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
from itertools import chain, islice
from pathlib import Path
from typing import Any

from trialbed.conversations import Message, Sample, ToolCall, calls_in
from trialbed.errors import NothingMeasured, UsageError
from trialbed.plugin_files import file_command
from trialbed.settings import REDACTED, is_secret
from trialbed.tasks import Task, TaskDataset
from trialbed.wire import parse_json, recorded_request
from trialbed.wire.redaction import redact

HEAD = """\
# Drafts of {many}, of {source}. Read each one: is what the user wrote whole, are the calls right and all that is
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
"""Matches keys of OpenAI and similar vendors, GitHub, AWS, Google and Slack, signed tokens, and bearer tokens."""

NAMES = ("authorization", "apikey")
"""Names of fields with a key, in addition to the usual names of variables with a key."""


MOST_SECRETS = 200
"""Most texts of one conversation that are masked everywhere."""

SHORTEST = 4
"""Least characters for a text in a field named like a key to be masked elsewhere, too."""


@dataclass(frozen=True)
class Draft:
    """A file of drafts.

    Attributes:
        text: its content, YAML.
        tasks: the number of its tasks.
        left_out: the skipped conversations, with the reasons.
    """

    text: str
    tasks: int
    left_out: tuple[str, ...]


def check_target(path: Path) -> None:
    """Check that a file for drafts does not exist yet and has a YAML name.

    Raises:
        UsageError: it exists, or has another suffix.
    """
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"-o {path}: give it a name that ends with .yaml")
    if path.exists():
        raise UsageError(f"-o {path}: the file already exists, and drafts never replace one; name another")


def draft_trial(agent: str, query: str, **settings: Any) -> Draft:
    """Run an agent with its own tools on a question and return the trial as a task.

    Args:
        agent: ``FILE.py:NAME``, the file of a Python program, or the command of any program.
        settings: the settings of the run, such as its model.

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
    """Return a task for each conversation, except repeats of the same messages by the user.

    Traces of the same conversation are joined. Successful calls are expected after the preceding message, and the last
    answer is the answer. Tools have the schema from the conversations, or else one inferred from their arguments. Texts
    that look like keys are masked. Texts in fields named like keys are masked everywhere in the conversation.

    Args:
        source: the source that the file names.
        own_tools: the agent's own tools, which the file names but does not define.
    """
    drafts: dict[tuple[str, ...], _DraftTask] = {}
    left_out: list[str] = []
    for sample, notes in _conversations(samples):
        task, reason = _draft_task(sample, notes)
        if task is None:
            left_out.append(f"{sample.place}: {reason}")
        elif task.texts in drafts:
            left_out.append(f"{sample.place}: its task is that of task {list(drafts).index(task.texts) + 1}")
        else:
            drafts[task.texts] = task
    many = f"{len(drafts)} {'task' if len(drafts) == 1 else 'tasks'}"
    head = HEAD.format(many=many, source=_json(source)[1:-1])
    tools = "".join(f"  - {_json(tool)}\n" for tool in _tools(drafts.values()))
    blocks = "\n".join("\n".join(_lines(task)) for task in drafts.values())
    body = f"tools:\n{tools}" if tools else ""
    if own_tools is not None:
        body = OWN_TOOLS.format(names=_json(", ".join(own_tools) or "none")[1:-1])
    return Draft(redact(f"{head}{body}tasks:\n{blocks}\n"), len(drafts), tuple(left_out))


def _conversations(samples: Sequence[Sample]) -> Iterator[tuple[Sample, list[str]]]:
    """Yield each conversation with notes. Traces that name the same conversation are joined in order of time."""
    groups: dict[object, list[Sample]] = {}
    for place, sample in enumerate(samples):
        is_part = sample.conversations and _turns(sample.messages or ())
        groups.setdefault(sample.conversations[0] if is_part else place, []).append(sample)
    for parts in groups.values():
        several = next((part for part in parts if len(part.conversations) > 1), None)
        notes = [] if several is None else [f"{several.place} names {len(several.conversations)} conversations"]
        yield (parts[0], notes) if len(parts) == 1 else _join_traces(parts, notes)


def _join_traces(parts: Sequence[Sample], notes: Sequence[str]) -> tuple[Sample, list[str]]:
    """Return one conversation from several traces. Each may repeat all earlier turns or the last ones."""
    turns: list[list[Message]] = []
    ordered = sorted(parts, key=lambda part: part.began)
    notes = [f"joined with {len(parts) - 1} later traces of the same conversation", *notes]
    for part in ordered:
        own = _turns(part.messages or ())
        if len(calls_in(chain(*own))) < len(part.calls):
            notes.append(f"calls before the first message of the user in {part.place} are left out")
        begin = next(begin for begin in range(len(turns) + 1) if _repeats(turns[begin:], own))
        again = len(turns) - begin
        # A history may lack calls of the turn's own trace, or contain an answer that the trace lacks.
        turns[begin:] = [max(pair, key=len) for pair in zip(turns[begin:], own, strict=False)] + own[again:]
    if len({part.began for part in parts}) < len(parts):
        notes.append("some of its traces began at the same or an unknown time")
    said = Counter(turn[0].content for turn in turns)
    notes += [f"{_json(text)} is there {times} times" for text, times in said.items() if times > 1]
    messages = tuple(message for turn in turns for message in turn)
    joined = replace(
        ordered[0],
        messages=messages,
        calls=calls_in(messages),
        tools={name: schema for part in ordered for name, schema in part.tools.items()},
        unrecorded=next((part.unrecorded for part in ordered if part.unrecorded), ""),
    )
    return joined, notes


def _repeats(last: Sequence[Sequence[Message]], own: Sequence[Sequence[Message]]) -> bool:
    """Return whether a trace begins with the last earlier turns, and not just with equal messages."""
    if not last or [turn[0].content for turn in last] != [turn[0].content for turn in own[: len(last)]]:
        return not last
    said = {one.content for one in last[-1][1:]}
    return any(one.content in said for one in own[len(last) - 1][1:])


Calls = Sequence[tuple[ToolCall, Any]]
"""Calls with their results; None for a missing result."""


@dataclass(frozen=True)
class _DraftTask:
    """A conversation as a task.

    Attributes:
        texts: the messages of its user.
        turns: for each message, the calls that can be expected and the answer.
        calls: the calls that can be expected of the whole conversation but not of a turn.
        notes: for the person who confirms the draft.
        hidden: matches the secrets of the conversation.
    """

    sample: Sample
    texts: tuple[str, ...]
    turns: Sequence[tuple[Calls, str]]
    calls: Calls
    notes: Sequence[str]
    hidden: re.Pattern[str]


def _draft_task(sample: Sample, notes: Sequence[str]) -> tuple[_DraftTask | None, str]:
    """Return the task of a conversation, or None with the reason."""
    turns = _turns(sample.messages or ())
    if not turns:
        return None, f"it has no message of a user, read as {sample.format or 'messages'}"
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
    failures = [f"a failed call of {_json(call.name)[1:-1]} is left out" for call, _, failed in made if failed]
    notes = [*notes, *failures]
    counts = [len(calls_in(turn)) for turn in turns]
    if sum(counts) != len(made) and len(turns) > 1:
        notes.append("which calls follow which message is not recorded")
    if sum(counts) != len(made) or len(turns) == 1:
        counts = [0] * len(turns)
    rest = iter(made)
    good = [
        [(call, result) for call, result, failed in part if not failed]
        for part in (*(islice(rest, count) for count in counts), rest)
    ]
    answers = [[one.content.strip() for one in turn if one.role == "assistant" and not one.calls] for turn in turns]
    return _DraftTask(
        sample,
        texts=tuple(turn[0].content.strip() for turn in turns),
        turns=[(calls, "".join(said[-1:])) for calls, said in zip(good, answers, strict=False)],
        calls=good[-1],
        notes=notes,
        hidden=hidden,
    ), ""


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into turns, which begin with a message of the user.

    Messages during a call are the agent's own prompts, for example for another agent.
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


def _lines(task: _DraftTask) -> Iterator[str]:
    yield f"  # {'; '.join((_json(task.sample.place)[1:-1], *task.notes))}"
    answer = task.turns[-1][1]
    if len(task.texts) == 1:
        yield f"  - query: {_json(task.texts[0], task.hidden)}"
    else:
        yield "  - turns:"
        for number, (text, (calls, said)) in enumerate(zip(task.texts, task.turns, strict=True), 1):
            yield f"      - {'user: ' if calls else ''}{_json(text, task.hidden)}"
            if calls:
                yield f"        expect: {_calls_json(calls, task.hidden)}"
            if said and number < len(task.texts):
                yield f"      # answer: {_json(said, task.hidden)}"
    if task.calls or not (task.sample.calls or task.sample.unrecorded):
        yield f"    expect: {_calls_json(task.calls, task.hidden)}"
    if answer:
        yield f"    answer: {_json(answer, task.hidden)}"


def _calls_json(calls: Calls, hidden: re.Pattern[str]) -> str:
    return _json({"calls": [{call.name: call.args} for call, _ in calls]}, hidden)


def _tools(tasks: Iterable[_DraftTask]) -> Iterator[dict[str, Any]]:
    schemas: dict[str, Mapping[str, Any]] = {}
    made: dict[str, list[ToolCall]] = {}
    examples: dict[str, Any] = {}
    for task in tasks:
        schemas |= task.sample.tools
        for call, result in chain(task.calls, *(calls for calls, _ in task.turns)):
            made.setdefault(call.name, []).append(call)
            if result is not None:
                examples.setdefault(call.name, _mask(result, task.hidden))
    for name in dict.fromkeys((*schemas, *made)):
        parameters = schemas.get(name) or _schema_of(made.get(name, ()))
        tool: dict[str, Any] = {"type": "function", "function": {"name": name, "parameters": parameters}}
        yield tool | ({"example": examples[name]} if name in examples else {})


def _schema_of(calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Infer a schema from the arguments of some calls. An argument is required if all calls have it."""
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
    """Return a schema for the common type of all values, or an empty one if types differ."""
    types = {TYPES.get(type(value), "") for value in values}
    if types == {"integer", "number"}:
        return {"type": "number"}
    return {"type": types.pop()} if len(types) == 1 and "" not in types else {}


def _json(value: Any, hidden: re.Pattern[str] = SHAPES) -> str:
    """Return a value as JSON that YAML reads as the same value, without surrogate pairs."""
    text = json.dumps(_mask(value, hidden), ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in text)


def _mask(value: Any, hidden: re.Pattern[str]) -> Any:
    """Mask hidden texts in a JSON value, texts that look like keys, and fields named like keys."""
    if isinstance(value, str):
        return SHAPES.sub(REDACTED, hidden.sub(REDACTED, value))
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_key(name, item) else _mask(item, hidden) for name, item in value.items()}
    return [_mask(item, hidden) for item in value] if isinstance(value, list) else value


def _secrets(value: Any) -> set[str]:
    """Return the texts of fields named like keys, except very short ones."""
    if isinstance(value, Mapping):
        own = {item for name, item in value.items() if _is_key(name, item) and len(item) >= SHORTEST}
        return own.union(*map(_secrets, value.values()))
    return set().union(*map(_secrets, value)) if isinstance(value, list) else set()


def _is_key(name: str, value: Any) -> bool:
    plain = name.replace("-", "_")
    return isinstance(value, str) and bool(value) and (plain.lower() in NAMES or is_secret(plain))
