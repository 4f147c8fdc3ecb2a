"""Tasks as users write them in Python, and the queries that they are."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import UsageError
from trialbed.files import replace_file
from trialbed.records import Api, ApiRef, GoldCall, Json, Query, ScriptedCall, ToolSpec
from trialbed.settings import make_folder, state_dir
from trialbed.suggestions import closest, did_you_mean
from trialbed.tasks._functions import STATE, ToolBody, function_tools
from trialbed.wire import Call

FOLDER = "tasks"
"""The folder of tasks in the state folder, in which ``bench show`` finds the tasks of a run again."""

TASKS = "tasks"
"""The name of tasks that have none."""

Tools = Iterable[Callable[..., Any] | Api | ToolSpec] | Callable[..., Any]
Calls = Iterable[str | GoldCall | ScriptedCall | Call]


def call(tool: str, /, **arguments: Json) -> ScriptedCall:
    """Return a call of a tool with these arguments, such as ``call("find", id=7)``."""
    return ScriptedCall(name=tool, arguments=arguments)


@dataclass(frozen=True)
class Task:
    """A task: its text, the tools that may be used, and the expected answer, calls and state.

    Attributes:
        text: the task in words, as agents get it.
        tools: functions, whose bodies answer the calls; a class, of which each trial has an object, and whose public
            methods are the tools; ``Api``, which the simulator answers for; or the ``Tool`` of another program.
        expect: a fact, or facts, that a right answer must hold.
        calls: the calls that solve the task, in order: ``call("find", id=7)``; a tool's name where any arguments will
            do; or a ``GoldCall``. Scripted models play these. Empty: a right agent calls nothing. None: the task says
            nothing about calls, and they are not scored.
        answer: a right answer in words, for judges that read one.
        state: the first state of the world that the tools act on. A class of tools gets it as ``state``, if it has a
            parameter of this name.
        final_state: the state after a right solution: the ``state()`` of a class of tools.
        id: unique among the tasks of a run; its place, counted from 1, if None.
    """

    text: str
    _: KW_ONLY
    tools: Tools = ()
    expect: str | Sequence[str] = ()
    calls: Calls | None = None
    answer: str | None = None
    state: Json = None
    final_state: Json = None
    id: int | str | None = None


def compile_tasks(tasks: Iterable[Task | Query]) -> tuple[tuple[Query, ...], dict[ApiRef, ToolBody]]:
    """Return the queries of tasks, and the answers to the calls of tools that are functions.

    Raises:
        UsageError: a task is none, cannot be one, or two functions have the same name; says which.
    """
    queries: list[Query] = []
    bodies: dict[ApiRef, ToolBody] = {}
    for place, task in enumerate(tasks, 1):
        if isinstance(task, Query):
            queries.append(task)
            continue
        if not isinstance(task, Task):
            raise UsageError(f"tasks: {task!r:.60} is not a task; write Task({str(task)[:40]!r}, …)")
        queries.append(_query(task, place, bodies))
    if not queries:
        raise UsageError("tasks: there are none to run")
    return tuple(queries), bodies


def write_queries(queries: Sequence[Query], name: str) -> Path:
    """Keep queries as a dataset's file in the state folder, and return its path; equal ones are one file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}", name):
        raise UsageError(f"name: {name!r} cannot name tasks: use letters, digits, '.', '_', '-' and spaces")
    body = ", ".join(query.model_dump_json() for query in queries)
    digest = hashlib.sha256(body.encode()).hexdigest()[:12]
    folder = state_dir() / FOLDER
    make_folder(folder, "TRIALBED_STATE_DIR")
    path = folder / f"{name}-{digest}.json"
    replace_file(path, f'{{"name": "{name}", "queries": [{body}]}}\n'.encode())
    return path


def _query(task: Task, place: int, bodies: dict[ApiRef, ToolBody]) -> Query:
    where = f"task {place if task.id is None else task.id}"
    given = [task.tools] if callable(task.tools) else list(task.tools)
    apis = [api for tool in given for api in _apis(tool, bodies, where)]
    return Query(
        query_id=place if task.id is None else task.id,
        text=task.text,
        apis=tuple(apis),
        gold_calls=tuple(_gold_call(item, apis, where) for item in task.calls or ()),
        states_calls=task.calls is not None,
        reference_answer=task.answer,
        reference_facts=(task.expect,) if isinstance(task.expect, str) else tuple(task.expect),
        initial_state=task.state,
        final_state=task.final_state,
    )


def _apis(tool: Any, bodies: dict[ApiRef, ToolBody], where: str) -> Iterable[Api]:
    if isinstance(tool, Api):
        return [tool]
    spec = getattr(tool, "spec", tool)
    if isinstance(spec, ToolSpec):
        return [Api(**spec.api.model_dump(), description=spec.description, json_schema=spec.parameters)]
    if not callable(tool):
        raise UsageError(f"{where}: {tool!r:.60} is not a tool; give a function, a class, an Api or a Tool")
    found = list(function_tools(tool))
    for api, body in found:
        if bodies.setdefault(api.ref, body) != body:
            raise UsageError(f"{where}: two different tools are called {api.api_name!r}; give one another name")
    if not found:
        raise UsageError(f"{where}: {tool.__qualname__} has no public method that could be a tool beside {STATE}()")
    return [api for api, _ in found]


def _gold_call(item: Any, apis: Sequence[Api], where: str) -> GoldCall:
    if isinstance(item, GoldCall):
        return item
    name, arguments = (item, None) if isinstance(item, str) else (item.name, _arguments(item.arguments, where))
    named = {api.api_name: api.ref for api in reversed(apis)} | {api.ref.title: api.ref for api in reversed(apis)}
    if name not in named:
        close = did_you_mean(closest(name, named))
        raise UsageError(f"{where}: calls: the task has no tool {name!r}{close}")
    return GoldCall(api=named[name], arguments=arguments)


def _arguments(given: Any, where: str) -> dict[str, Json]:
    """Return the arguments of a call, which are text where a scripted model writes it."""
    try:
        return dict(json.loads(given) if isinstance(given, str) else given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: calls: the arguments {given!r:.60} are not a JSON object") from error
