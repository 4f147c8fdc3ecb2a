"""Evaluates agents from Python, as ``bench run`` does, with plain objects in the places of drivers."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import EllipsisType
from typing import Any

from trialbed.conformity import check_function, check_object
from trialbed.contracts import Dataset, Judge, Simulator, ToolSelector
from trialbed.engine import RunProgress
from trialbed.errors import EnvironmentFailed, SettingsError, UsageError
from trialbed.models import judge_drivers
from trialbed.preparation import RunObjects, RunOptions, Setup, read_keywords
from trialbed.records import Query
from trialbed.report import Report
from trialbed.run_report import run_and_report
from trialbed.scoring import JudgeFunction, ScoreFunction, Scorer, as_judge, scorer
from trialbed.settings import declared_settings, env_dir, read_env_file, read_settings_file
from trialbed.tasks import TASKS, Task, TaskDataset

OWN = ("frameworks", "dataset", "model", "judge", "selector", "environments")
"""Settings that ``evaluate`` has parameters of its own for."""

Agents = Any
"""A framework's label, an agent of this process, several of either, or names with agents."""

Tasks = str | Dataset | Task | Query | Iterable[Task | Query]


def evaluate(
    agents: Agents,
    tasks: Tasks | EllipsisType = ...,
    *,
    model: object = None,
    scorers: Sequence[ScoreFunction | Scorer | object] = (),
    judge: str | Judge | JudgeFunction | None = None,
    selector: str | ToolSelector | None = None,
    simulator: str | Simulator | None = None,
    name: str = TASKS,
    progress: bool | None = None,
    build: bool | None = None,
    **settings: Any,
) -> Report:
    """Run agents on tasks, and return a report of their scores, costs and failures.

    The same call again continues a run that was interrupted, unless the code of an agent, a tool or a scorer changed.

    Settings that are not given come from ``TRIALBED_*`` variables, ``.env`` included, from ``[run]`` of ``bench.toml``
    or ``[tool.trialbed.run]`` of ``pyproject.toml``, and have the defaults of ``bench run`` at last.

    Args:
        agents: one or several. Either a framework's label, as for ``bench run --framework``, which runs in its own
            processes, or an agent of this process, which is a function, a class or an object with ``answer``. A mapping
            gives them names, and a ``Setup`` as its value also instructions or a temperature.
        tasks: tasks, queries, a ``Dataset``, or a dataset's name as for ``bench run --dataset``; by default, the
            dataset of the settings or ``mini``.
        model: a model as for ``bench run --model``, or several; ``scripted:gold`` by default. It may be a function of a
            ``trialbed.wire.ModelRequest``, or an object with such a method ``answer``, which returns a ``ModelAnswer``,
            a text, a ``Call`` or several.
        scorers: functions of a trial, made by ``scorer`` or not, or objects with the hook ``score_trial``.
        judge: a judge's name or a model; a ``Judge``, or a function of query, answer and wire log; ``rule`` by default.
        selector: a selector's name, or a ``ToolSelector``; ``query`` by default, which selects the query's own tools.
        simulator: answers for Apis that no function answers for. Its name, or a ``Simulator``; None for the dataset's.
        name: of the tasks, if they do not have one.
        progress: whether progress is shown on standard error; by default, if a run takes long and standard error is a
            terminal or a notebook.
        build: whether environments are built for frameworks that are not installed here, as ``bench run --yes`` does.
            Each takes minutes and hundreds of megabytes. By default they are not built, and the error says how to get
            them.
        **settings: any other setting of ``bench run`` under its name with underscores: ``base_url``, ``repeat``,
            ``limit``, ``concurrency``, ``seed``, ``timeout``, ``store``, ``extend`` …

    Returns:
        The report, which prints as the table and shows itself in a notebook.

    Raises:
        TrialbedError: nothing could be measured, or something that was asked for is not there; says why.
    """
    given = {**locals()}
    refuse_running_loop("evaluate", "aevaluate")
    return asyncio.run(aevaluate(**given.pop("settings"), **given))


async def aevaluate(
    agents: Agents,
    tasks: Tasks | EllipsisType = ...,
    *,
    model: object = None,
    scorers: Sequence[ScoreFunction | Scorer | object] = (),
    judge: str | Judge | JudgeFunction | None = None,
    selector: str | ToolSelector | None = None,
    simulator: str | Simulator | None = None,
    name: str = TASKS,
    progress: bool | None = None,
    build: bool | None = None,
    **settings: Any,
) -> Report:
    """``evaluate`` for code that runs in an event loop, such as a notebook's cell."""
    given = {**locals()}
    if tasks is None:
        raise UsageError("tasks: None was given; leave tasks out to run the dataset of the settings")
    given["tasks"] = None if isinstance(tasks, EllipsisType) else tasks
    given["settings"] = read_keywords(settings, evaluate, OWN)
    given["progress"] = function_progress(progress)
    return await run_agents(**given)


async def run_agents(
    agents: Agents,
    tasks: Tasks | None,
    *,
    settings: Mapping[str, Any],
    progress: RunProgress,
    build: bool | None = None,
    ambient: bool = False,
    documents: bool = False,
    **given: Any,
) -> Report:
    """Run agents on tasks as ``evaluate`` does.

    Args:
        settings: the caller's settings.
        ambient: whether requests without a token belong to the open trial.
        documents: whether result documents are written if no setting names their folder.
        **given: as ``run_parts`` takes it.
    """
    read_env_file(Path.cwd())
    configured = configured_settings(Path.cwd())
    may_build, env_folder = configured.pop("yes", False), configured.pop("env_dir", None)
    chosen = {name: value for name, value in configured.items() if name not in ("frameworks", "commands")}
    chosen |= settings
    options, objects = run_parts(agents, tasks, chosen, **given)
    options = await with_environments(options, objects, folder=env_folder, build=may_build if build is None else build)
    return await run_and_report(
        options, objects=objects, ambient=ambient, progress=progress, documents=documents or "output" in chosen
    )


def configured_settings(start: Path) -> dict[str, Any]:
    """Return the settings in the nearest settings file and the environment, as ``bench run`` reads them.

    Raises:
        SettingsError: a value does not fit its setting, or the file has an option that its command does not have.
    """
    file = read_settings_file(start)
    variables = {"TRIALBED_YES", "TRIALBED_ENV_DIR", *(item.variable for item in declared_settings())}
    if file is None and variables.isdisjoint(os.environ):
        return {}
    import click  # most programs configure nothing

    from trialbed.cli._main import default_map
    from trialbed.cli.run import command

    defaults = default_map(file).get("run", {}) if file is not None else {}
    try:
        context = command.make_context("run", [], default_map=defaults)
    except click.BadParameter as error:
        raise SettingsError(f"{getattr(error.param, 'envvar', 'bench run')}: {error.message}") from error
    known = {"yes", "env_dir", *(field.name for field in fields(RunOptions))}
    given = (click.core.ParameterSource.ENVIRONMENT, click.core.ParameterSource.DEFAULT_MAP)
    found = ((name, value) for name, value in context.params.items() if name in known)
    return {name: value for name, value in found if context.get_parameter_source(name) in given}


async def with_environments(
    options: RunOptions, objects: RunObjects, *, folder: Path | None = None, build: bool = False
) -> RunOptions:
    """Return the options with the environments of frameworks that are not installed here.

    Args:
        folder: has the environments; the user's if None.
        build: build what is missing, rather than raise an error.

    Raises:
        DriverError: one is missing, or cannot be built.
    """
    asked = [label for label in options.frameworks if label not in objects.agents]
    if not asked:
        return options
    # Agents of this process need none of this.
    from trialbed.environments import EnvironmentStore, install_command, needed_environments, provide

    store = EnvironmentStore(folder or env_dir())
    requests, missing = needed_environments(asked, store)
    if missing and not build:
        spec = missing[0].framework
        raise EnvironmentFailed(
            f"{spec.text} is not installed here: build an environment for it with `bench env add {spec.text}` "
            f"(evaluate does so with build=True), or install it next to Trialbed: "
            f"`{install_command(spec.name, *spec.pins)}`"
        )
    installed = await provide(store, requests.values())
    found = {label: installed[request.framework.text].environment for label, request in requests.items()}
    return replace(options, environments=found)


def function_progress(wanted: bool | None) -> RunProgress:
    """Return the progress display on standard error for a function that runs trials, or a silent one.

    Args:
        wanted: None to show it if a run takes long and a person may be looking, at a terminal or in a notebook.
    """
    if not (wanted or (wanted is None and (sys.stderr.isatty() or "ipykernel" in sys.modules))):
        return RunProgress()
    from trialbed.cli.progress import new_display
    from trialbed.cli.run_progress import WAIT, TrialProgress

    return TrialProgress(new_display(), after=0.0 if wanted else WAIT)


def run_parts(
    agents: Agents | None,
    tasks: Tasks | None,
    settings: Mapping[str, Any],
    *,
    model: Any = None,
    scorers: Sequence[Any] = (),
    judge: Any = None,
    selector: Any = None,
    simulator: Any = None,
    name: str = TASKS,
) -> tuple[RunOptions, RunObjects]:
    """Return the options of a run, and the objects that replace drivers in it, from arguments of ``evaluate``.

    Args:
        agents: None for the agents in the settings.
        settings: in the form of the options.

    Raises:
        UsageError: an object does not fit its place, or two have the same name.
    """
    _check_objects(judge, selector, simulator, tasks)
    frameworks, live, columns = ((), {}, {}) if agents is None else _agents(agents)
    own_dataset = tasks if isinstance(tasks, Dataset) else None
    if tasks is not None and not isinstance(tasks, str | Dataset):
        own_dataset = TaskDataset([tasks] if isinstance(tasks, Task | Query) else tasks, name)
        own_dataset.check_calls()
    models, own_model = _models(model)
    own_judge = None if isinstance(judge, str) else judge
    named = {
        "frameworks": frameworks,
        "columns": columns,
        "dataset": tasks if isinstance(tasks, str) else None,
        "model": models,
        **{
            name: given if given is None or isinstance(given, str) else _name_of(given)
            for name, given in (("judge", judge), ("selector", selector))
        },
    }
    chosen = {**settings, **{key: value for key, value in named.items() if value}}
    if chosen.get("base_url") and "model" not in chosen and chosen.get("judge", "rule") in judge_drivers():
        # The default model is scripted.
        raise UsageError("base_url names an endpoint, but none of its models is used; give model too")
    model_driver = None
    if own_model is not None:
        from trialbed.models import ObjectModel  # most models are named

        model_driver = ObjectModel(own_model, title="model")
    return RunOptions(**chosen), RunObjects(
        agents=live,
        dataset=own_dataset,
        judge=None if own_judge is None else as_judge(own_judge),
        selector=None if isinstance(selector, str) else selector,
        simulator=simulator,
        plugins=scorer_plugins(scorers),
        model=model_driver,
    )


def _check_objects(judge: Any, selector: Any, simulator: Any, tasks: Any) -> None:
    """Check the objects that replace drivers before anything is run.

    Raises:
        UsageError: an object does not fit its contract.
    """
    if isinstance(judge, Judge):
        check_object("judge", judge, Judge)
    elif callable(judge) and not isinstance(judge, type):
        check_function("judge", judge, "query", "answer", "wire")
    if selector is not None and not isinstance(selector, str):
        check_object("selector", selector, ToolSelector)
    if simulator is not None and not isinstance(simulator, str):
        check_object("simulator", simulator, Simulator)
    if isinstance(tasks, Dataset):
        check_object("tasks", tasks, Dataset)


def _models(given: Any) -> tuple[tuple[str, ...], Any]:
    """Return the names of models, and the model that is an object; None for names alone.

    Raises:
        UsageError: several are given, including an object.
    """
    if given is None or isinstance(given, str):
        return () if given is None else (given,), None
    if not isinstance(given, (list, tuple)):
        return (_name_of(given),), given
    if not given or not all(isinstance(one, str) for one in given):
        raise UsageError("model: give several by name; a model that is an object must be the only one")
    return tuple(given), None


def _agents(given: Agents) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Setup]]:
    """Return the frameworks of a run, the agents of this process among them, and its columns if these are named.

    Raises:
        UsageError: two have the same name, or one lacks a name.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
        unnamed = [label for label, _ in pairs if not (isinstance(label, str) and label.strip())]
        if unnamed:
            raise UsageError(f"agents: {unnamed[0]!r:.60} cannot be an agent's name; give a text that is not empty")
    else:
        several = given if isinstance(given, (list, tuple, set, frozenset)) else [given]
        pairs = [(agent if isinstance(agent, str) else _name_of(agent), agent) for agent in several]
    labels = [label for label, _ in pairs]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"agents: two are called {label!r}; give them names: agents={{'first': …, 'second': …}}")
    if not labels:
        raise UsageError("agents: the list is empty; give a function, an object with answer(query), or a label")
    setups = {label: agent if isinstance(agent, Setup) else Setup(agent) for label, agent in pairs}
    live = {label: setup.agent for label, setup in setups.items() if not isinstance(setup.agent, str)}
    columns = {label: replace(setup, agent=label) if label in live else setup for label, setup in setups.items()}
    frameworks = tuple(dict.fromkeys(setup.agent for setup in columns.values()))
    is_plain = all(setup == Setup(label) for label, setup in columns.items())
    return frameworks, live, {} if is_plain else columns


def _name_of(thing: Any) -> str:
    name = getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__
    return re.sub(r"[^A-Za-z0-9_.-]+", "", str(name)) or "agent"


def scorer_plugins(scorers: Sequence[Any]) -> dict[str, object]:
    """Return the plugins that scorers are, by name.

    Raises:
        UsageError: two have the same name.
    """
    plugins: dict[str, object] = {}
    for given in scorers if isinstance(scorers, (list, tuple)) else [scorers]:
        plugin = scorer(given) if callable(given) and not hasattr(given, "score_trial") else given
        name = _name_of(plugin)
        if name in plugins:
            raise UsageError(f"scorers: two are called {name!r}; name one with @scorer(name=…)")
        if not hasattr(plugin, "score_trial"):
            raise UsageError(f"scorers: {given!r:.60} is neither a function nor an object with score_trial(context)")
        plugins[name] = plugin
    for plugin in plugins.values():
        if isinstance(plugin, Scorer):
            check_function("scorers", plugin.code, "trial")
    return plugins


def refuse_running_loop(name: str, awaited: str) -> None:
    """Refuse to begin an event loop inside another.

    Raises:
        UsageError: one runs; names the function to await.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(f"{name}() cannot run inside an event loop; use `await {awaited}(…)` there")
