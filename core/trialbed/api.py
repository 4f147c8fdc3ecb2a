"""Evaluates agents from Python, as ``bench run`` does, with plain objects in the places of drivers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trialbed.contracts import Dataset, Judge, Simulator, ToolSelector
from trialbed.engine import RunObjects, RunOptions, read_keywords
from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    check_name,
    install_command,
    runs_here,
)
from trialbed.errors import EnvironmentFailed, UsageError
from trialbed.records import Environment, Query
from trialbed.report import Report
from trialbed.run_report import run_and_report
from trialbed.scoring import JudgeFunction, ScoreFunction, Scorer, as_judge
from trialbed.settings import env_dir, read_env_file
from trialbed.tasks import TASKS, Task, compile_tasks, write_queries

OWN = ("frameworks", "dataset", "model", "judge", "selector", "environments")
"""Settings that ``evaluate`` has parameters of its own for."""

Agents = Any
"""A framework's label, an agent of this process, several of either, or names with agents."""

Tasks = str | Dataset | Task | Query | Iterable[Task | Query]


def evaluate(
    agents: Agents,
    tasks: Tasks = "mini",
    *,
    model: str = "scripted:gold",
    scorers: Sequence[ScoreFunction | Scorer | object] = (),
    judge: str | Judge | JudgeFunction = "rule",
    selector: str | ToolSelector = "query",
    simulator: str | Simulator | None = None,
    name: str = TASKS,
    **settings: Any,
) -> Report:
    """Run agents on tasks, and return a report of their scores, costs and failures.

    The same call again continues a run that was interrupted, unless the code of an agent, a tool or a scorer changed.

    Args:
        agents: one or several: a framework's label, as ``bench run --framework`` takes it, which runs in processes of
            its own; or an agent of this process, which is a function, a class or an object with ``answer``. A mapping
            gives agents names.
        tasks: tasks, queries, a ``Dataset``, or a dataset's name as ``bench run --dataset`` takes it.
        model: a scripted model, or a model of ``base_url``.
        scorers: functions of a trial, made by ``scorer`` or not, or objects with the hook ``score_trial``.
        judge: a judge's name, a model, a ``Judge``, or a function of query, answer and wire log.
        selector: a selector's name, or a ``ToolSelector``.
        simulator: answers for Apis that no function answers for: its name, or a ``Simulator``; None for the dataset's.
        name: of the tasks, where they have none.
        **settings: any other setting of ``bench run`` under its name with underscores: ``base_url``, ``repeat``,
            ``limit``, ``concurrency``, ``seed``, ``timeout``, ``store`` …

    Returns:
        The report: its text is the table, and in a notebook it shows itself.

    Raises:
        TrialbedError: nothing could be measured, or something that was asked for is not there; says why.
    """
    _refuse_running_loop()
    work = aevaluate(
        agents,
        tasks,
        model=model,
        scorers=scorers,
        judge=judge,
        selector=selector,
        simulator=simulator,
        name=name,
        **settings,
    )
    return asyncio.run(work)


async def aevaluate(
    agents: Agents,
    tasks: Tasks = "mini",
    *,
    model: str = "scripted:gold",
    scorers: Sequence[ScoreFunction | Scorer | object] = (),
    judge: str | Judge | JudgeFunction = "rule",
    selector: str | ToolSelector = "query",
    simulator: str | Simulator | None = None,
    name: str = TASKS,
    **settings: Any,
) -> Report:
    """``evaluate`` for code that runs in an event loop, such as a notebook's cell."""
    read_env_file(Path.cwd())
    chosen = read_keywords(settings, "evaluate", OWN)
    frameworks, live = _agents(agents)
    dataset, own_dataset, bodies = _tasks(tasks, name)
    own_judge = None if isinstance(judge, str) else as_judge(judge)
    objects = RunObjects(
        agents=live,
        dataset=own_dataset,
        judge=own_judge,
        selector=None if isinstance(selector, str) else selector,
        simulator=simulator,
        bodies=bodies,
        plugins=_plugins(scorers),
    )
    options = RunOptions(
        frameworks=frameworks,
        dataset=dataset,
        model=model,
        judge=judge if isinstance(judge, str) else _name_of(judge),
        selector=selector if isinstance(selector, str) else _name_of(selector),
        environments=_environments([label for label in frameworks if label not in live]),
        **chosen,
    )
    return await run_and_report(options, objects=objects, documents="output" in chosen)


def _agents(given: Agents) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the labels of a run, and the agents of this process among them.

    Raises:
        UsageError: two have the same name.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
        renamed = next((label for label, agent in pairs if isinstance(agent, str) and agent != label), None)
        if renamed is not None:
            raise UsageError(f"agents: a framework keeps its own label: write {given[renamed]!r}, not {renamed!r}")
    else:
        several = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
        pairs = [(agent if isinstance(agent, str) else _name_of(agent), agent) for agent in several]
    labels = [label for label, _ in pairs]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"agents: two are called {label!r}; give them names: agents={{'first': …, 'second': …}}")
    if not labels:
        raise UsageError("agents: there are none; give a function, an object with answer(query), or a label")
    return tuple(labels), {label: agent for label, agent in pairs if not isinstance(agent, str)}


def _name_of(thing: Any) -> str:
    """Return a name for an object: a function's or class's own, else that of its class."""
    name = getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__
    return re.sub(r"[^A-Za-z0-9_.-]+", "", str(name)) or "agent"


def _tasks(given: Tasks, name: str) -> tuple[str, Dataset | None, Mapping[Any, Any]]:
    """Return the name of the tasks' dataset, the dataset where it is an object, and the bodies of its functions."""
    if isinstance(given, str):
        return given, None, {}
    if isinstance(given, Dataset):
        return str(write_queries(given.queries(), given.test_set)), given, {}
    queries, bodies = compile_tasks([given] if isinstance(given, (Task, Query)) else given)
    return str(write_queries(queries, name)), None, bodies


def _plugins(scorers: Sequence[Any]) -> dict[str, object]:
    """Return the plugins that scorers are, by name.

    Raises:
        UsageError: two have the same name.
    """
    plugins: dict[str, object] = {}
    for given in scorers if isinstance(scorers, (list, tuple)) else [scorers]:
        plugin = Scorer(given) if callable(given) and not hasattr(given, "score_trial") else given
        name = _name_of(plugin)
        if name in plugins:
            raise UsageError(f"scorers: two are called {name!r}; name one with @scorer(name=…)")
        if not hasattr(plugin, "score_trial"):
            raise UsageError(f"scorers: {given!r:.60} is neither a function nor an object with score_trial(context)")
        plugins[name] = plugin
    return plugins


def _environments(labels: Sequence[str]) -> dict[str, Environment]:
    """Return the environments of the frameworks that cannot run in this interpreter.

    Raises:
        EnvironmentFailed: one has none yet; says how to build it.
    """
    specs = {label: FrameworkSpec.parse(label) for label in labels if not runs_here(label)}
    store = EnvironmentStore(env_dir())
    found = {label: store.find(BuildRequest(spec)) for label, spec in specs.items()}
    for label, environment in found.items():
        if environment is None:
            check_name(specs[label])
            raise EnvironmentFailed(
                f"{label} is not installed here: build an environment for it with `bench env add {specs[label].text}`, "
                f"or install it next to Trialbed: `{install_command(specs[label].name, *specs[label].pins)}`"
            )
    return {label: environment.environment for label, environment in found.items() if environment is not None}


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError("evaluate() cannot run inside an event loop; use `await aevaluate(…)` there")
