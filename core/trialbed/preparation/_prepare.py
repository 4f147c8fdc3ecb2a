"""Look up everything that a run needs, before anything is started."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from trialbed.agent_programs import agent_commands
from trialbed.catalogs import choose_queries, open_catalog, open_dataset
from trialbed.contracts import Judge, ModelInfo, ToolSelector
from trialbed.drivers import load_driver
from trialbed.errors import UsageError
from trialbed.models import choose_cache, helpers_of, judge_choice, model_info, with_endpoint
from trialbed.plugin_files import given_files, lacks_parameter
from trialbed.preparation._configuration import run_config
from trialbed.preparation._continuation import count_trials, trial_seed
from trialbed.preparation._options import NO_OBJECTS, Prepared, RunObjects, RunOptions, check_executor, with_labels
from trialbed.prices import given_prices, model_prices, read_amount
from trialbed.records import Prices, Query, Run, RunConfig, TrialKey
from trialbed.scoring import RULE
from trialbed.settings import RunSettings
from trialbed.suggestions import closest, did_you_mean
from trialbed.texts import number_of

LOG = logging.getLogger("trialbed.preparation")

MOST_TRIALS = 1_000_000
"""Trials of one run. Each takes half a kilobyte of memory from the beginning."""


def prepare(options: RunOptions, objects: RunObjects = NO_OBJECTS, *, keeps: bool = True) -> Prepared:
    """Look up the dataset, the queries and the drivers.

    Args:
        keeps: whether queries that cannot be read again later are kept in the state folder.

    Raises:
        UsageError, DataError, DriverError: something asked for is not there or not usable.
    """
    commands = agent_commands(options.commands, Path.cwd())
    options = with_labels(options, objects.agents, commands)
    options = with_endpoint(options, own_judge=objects.judge is not None, own_model=objects.model)
    if options.budget is not None:
        read_amount(options.budget)
    check_prices(options, own_judge=objects.judge is not None)
    promptless = [name for name, command in commands.items() if lacks_parameter(command.arguments, "system_prompt")]
    if objects.agents:
        from trialbed.live import LiveExecutor  # a run of workers needs none of it

        promptless += LiveExecutor(objects.agents).without_prompt()  # refuses objects that are not agents
        if options.sandbox:
            raise UsageError("--sandbox: an agent that is an object of this process cannot be put into a sandbox")
    dataset = objects.dataset or open_dataset(options.dataset, options.data_dir, options.mcp, options.tool_answers)
    objects, dataset_file = objects.with_dataset(dataset), ""
    own = objects.dataset is not None or options.dataset.partition(":")[0] in given_files(("datasets",))
    if not keeps:
        options = replace(options, dataset=dataset.test_set)
    elif own or dataset.functions or any(file.suffix == ".py" for file in dataset.files):
        # An object, or to read it again needs code, servers or keys: the run names a copy of its queries.
        from trialbed.tasks import write_queries  # most datasets are read again in their place

        dataset_file = "" if own else options.dataset
        options = replace(options, dataset=str(write_queries(dataset.queries(), dataset.test_set)))
    if options.gold_answers and (objects.bodies or not isinstance(objects.simulator, str | None)):
        raise UsageError("gold_answers: expected calls cannot be made in advance if tools are functions or objects")
    queries = choose_queries(dataset, options.limit, options.query_ids, options.only_tags, options.shuffle)
    infos = {name: model_info(name, options, objects.model) for name in options.model}
    queries, note = recorded_queries(options, queries, infos, own=objects.dataset is not None)
    check_criteria(queries, options, objects.judge)
    selector, catalog = objects.selector or selector_driver(options), None
    if selector.needs_catalog:
        catalog = open_catalog([dataset], options.catalog, options.data_dir)
    elif options.catalog:
        raise UsageError(f"--catalog: the selector {options.selector} does not choose from a catalog; name another one")
    config = run_config(
        options, dataset, queries, commands, infos, dataset_file=dataset_file, objects=objects, catalog=catalog
    )
    check_prompts(config, promptless)
    if (trials := count_trials(config)) > MOST_TRIALS:
        raise UsageError(
            f"this run would have {trials:,} trials, and one has at most {MOST_TRIALS:,}: choose fewer setups, "
            "tasks (--limit) or repeats (--repeat)"
        )
    if not objects.agents or not set(options.frameworks) <= set(objects.agents):
        check_executor(options, load_driver("executors", options.executor), commands=bool(commands))
    caches = {name: cache for name, info in infos.items() if (cache := choose_cache(name, options, info))}
    notes = note, next(filter(None, (query.impossible_call for query in queries)), "")
    return Prepared(
        options,
        dataset,
        {query.query_id: query for query in queries},
        config,
        commands,
        catalog,
        objects,
        simulator=objects.simulator if isinstance(objects.simulator, str) else dataset.simulator,
        cache=next((file for file, _ in caches.values()), None),
        cached_as={name: identity for name, (_, identity) in caches.items()},
        notes=tuple(filter(None, notes)),
    )


def check_prompts(config: RunConfig, promptless: Sequence[str]) -> None:
    """Warn about agents that do not get their system prompt.

    Args:
        promptless: the agents that do not take one.

    Raises:
        UsageError: one has columns that differ by their prompts alone.
    """
    for name in promptless:
        prompts = {cell.system_prompt for cell in config.cells if cell.framework == name}
        text = f"{name}: the agent takes no system_prompt, so the prompt is not sent; give it a parameter of this name"
        if len(prompts) > 1:
            raise UsageError(text)
        if any(prompts):
            LOG.warning(text)


def selector_driver(settings: RunSettings) -> type[ToolSelector]:
    """Return the class of the selector that the settings name.

    Raises:
        DriverError: it is not installed, or cannot be loaded.
        UsageError: it asks a model, and none is named.
    """
    driver = cast("type[ToolSelector]", load_driver("selectors", settings.selector))
    if driver.needs_model and settings.selector_model is None:
        raise UsageError(f"--selector {settings.selector} asks a model: give its name as --selector-model")
    return driver


def check_criteria(queries: Sequence[Query], settings: RunSettings, own: Judge | None) -> None:
    """Check that there is a judge for the criteria of tasks.

    Raises:
        UsageError: there is no judge for them; says how to name a model.
    """
    query = next((one for one in queries if one.expected and one.expected.all_criteria), None)
    if query is None:
        return
    name, model = ("", None) if own is not None else judge_choice(settings)
    judge = type(own) if own is not None else load_driver("judges", name)
    if judge.meets is Judge.meets or (name == RULE and model is None):
        raise UsageError(
            f"task {query.query_id} has criteria, which a model must judge: give --judge-model NAME@URL, or NAME and "
            "--base-url (judge_model= in Python)"
        )


def recorded_queries(
    options: RunOptions, queries: Sequence[Query], models: Mapping[str, ModelInfo], *, own: bool = False
) -> tuple[Sequence[Query], str]:
    """Skip queries that a recorded model cannot answer, unless the user has chosen queries.

    If a recording answers no query, all are kept, and each trial reports its difference. Returns the queries, and a
    sentence on skipped ones; empty if no query is skipped.

    Args:
        own: whether the dataset is an object of the calling program, which has chosen its tasks.
    """
    recorded = {name: info.answers_seed for name, info in models.items() if info.answers_seed is not None}
    if not recorded or own or options.limit or options.query_ids or options.only_tags or options.shuffle is not None:
        return queries, ""
    known = []
    for query in queries:
        keys = (TrialKey(framework="", query_id=query.query_id, repeat=repeat) for repeat in range(options.repeat))
        seeds = [trial_seed(options.seed, key) for key in keys]
        if all(any(map(answers, seeds)) for answers in recorded.values()):
            known.append(query)
    if not known or len(known) == len(queries):
        return queries, ""
    some = f"{len(known)} of {number_of(len(queries), 'task', 'tasks')}, and these are run; --limit {len(queries)}"
    return known, f"{' and '.join(recorded)}: answers are recorded for {some} runs all"


def check_prices(options: RunOptions, *, own_judge: bool = False) -> None:
    """Check that each price belongs to a model of the run or of its helpers.

    Args:
        own_judge: whether the judge is an object, which has its own model.

    Raises:
        UsageError: a price does not, or is not of the form.
    """
    helpers = (one.model for one in helpers_of(options) if not (own_judge and one.role == "judge"))
    known = dict.fromkeys([*options.model, *helpers])
    for name in given_prices(options.price, options.model[0]):
        if name not in known:
            close = did_you_mean(closest(name, known))
            raise UsageError(f"--price: no model of this run is called {name!r}{close} Known are {', '.join(known)}")


def prices_of(options: RunOptions, config: RunConfig, found: Run | None) -> dict[str, Prices]:
    """Return the known prices of a run's models.

    Args:
        found: the run that is continued; its prices do not change.

    Raises:
        UsageError: it began with prices other than the given ones.
    """
    known = model_prices(options, config.models)
    if found is None:
        return known
    had: dict[str, Prices | None] = dict.fromkeys(found.config.models)
    had |= {use.model: use.prices for use in found.helpers} | found.prices
    given = given_prices(options.price, options.model[0])
    changed = [model for model, prices in given.items() if model in had and had[model] != prices]
    if changed:
        raise UsageError(
            f"--price: run {found.run_id} began with other prices for {' and '.join(changed)} and keeps them; --fresh "
            "starts over"
        )
    return {name: prices for name, prices in known.items() if name not in found.config.models} | found.prices
