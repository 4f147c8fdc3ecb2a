"""Prepares a run: looks everything up that it needs, before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trialbed.agent_programs import AgentCommand, agent_commands
from trialbed.catalogs import ApiCatalog, choose_queries, open_catalog, open_dataset
from trialbed.contracts import Dataset, Executor
from trialbed.drivers import load_driver
from trialbed.errors import UsageError
from trialbed.installed import own_version
from trialbed.live import LiveExecutor
from trialbed.models import choose_cache, model_info, with_endpoint
from trialbed.plugin_files import given_files
from trialbed.preparation._configuration import run_config
from trialbed.preparation._helpers import check_criteria, selector_driver
from trialbed.preparation._options import (
    NO_OBJECTS,
    RunObjects,
    RunOptions,
    check_executor,
    check_run_sandbox,
    with_commands,
    with_profiles,
)
from trialbed.preparation._prepared import Prepared
from trialbed.preparation._prices import check_prices
from trialbed.preparation._recorded import recorded_queries
from trialbed.preparation._variations import with_endpoints, with_factors
from trialbed.prices import read_amount
from trialbed.tasks import write_queries


def prepare(
    options: RunOptions, objects: RunObjects = NO_OBJECTS, *, executor: Executor | None = None, keeps: bool = True
) -> Prepared:
    """Look up the dataset, the queries and the drivers.

    Args:
        keeps: whether queries that cannot be read again later are kept in the state folder.

    Raises:
        UsageError, DataError, DriverError: something asked for is not there or not usable.
    """
    options = with_factors(with_profiles(options, objects.agents), objects.model, objects.judge)
    options = with_endpoints(with_endpoint(options, own_judge=objects.judge is not None, own_model=objects.model))
    if options.budget is not None:
        read_amount(options.budget)
    check_prices(options, own_judge=objects.judge is not None)
    LiveExecutor(objects.agents)  # refuses objects that are not agents
    dataset = objects.dataset or _open_dataset(options)
    objects, dataset_file = objects.with_dataset(dataset), ""
    if keeps:
        own = objects.dataset is not None or options.dataset.partition(":")[0] in given_files(("datasets",))
        kept = with_kept_queries(options, dataset, own=own)
        dataset_file = "" if own or kept is options else options.dataset
        options = kept
    else:
        options = replace(options, dataset=dataset.test_set)
    if options.gold_answers and (objects.bodies or not isinstance(objects.simulator, str | None)):
        raise UsageError("gold_answers: the expected calls of tools that are functions or objects cannot be made apart")
    commands = agent_commands(options.commands, Path.cwd())
    options = with_commands(options, commands)
    queries = choose_queries(dataset, options.limit, options.query_ids, options.categories, options.shuffle)
    model = model_info(options, objects.model)
    others = {name: model_info(replace(options, model=name)) for name in options.models[1:]}
    infos = {options.model: model, **others}
    queries, note = recorded_queries(options, queries, infos, own=objects.dataset is not None)
    check_criteria(queries, options, objects.judge)
    config = run_config(
        options,
        dataset,
        queries,
        own_version(),
        commands,
        dataset_file=dataset_file,
        objects=objects,
        catalog=(catalog := _catalog(options, dataset, objects)),
        model=model,
    )
    _check_executor(options, commands, objects, executor)
    caches = {options.model: choose_cache(options, model)}
    caches |= {name: choose_cache(replace(options, model=name), info) for name, info in others.items()}
    return Prepared(options, dataset, queries, config, commands, catalog, objects, caches, (note,) if note else ())


def _open_dataset(options: RunOptions) -> Dataset:
    return open_dataset(options.dataset, options.data_dir, options.mcp, options.tool_answers)


def with_kept_queries(options: RunOptions, dataset: Dataset, *, own: bool) -> RunOptions:
    """Name a copy of the queries where the dataset is an object, or to read it again needs code, servers or keys."""
    if not own and not dataset.functions and all(file.suffix != ".py" for file in dataset.files):
        return options
    return replace(options, dataset=str(write_queries(dataset.queries(), dataset.test_set)))


def _catalog(options: RunOptions, dataset: Dataset, objects: RunObjects) -> ApiCatalog | None:
    """Open the Apis that the selector chooses from; None if it needs none."""
    selector = objects.selector or selector_driver(options)
    if selector.needs_catalog:
        return open_catalog([dataset], options.catalog, options.data_dir)
    if options.catalog:
        raise UsageError(f"--catalog: the selector {options.selector} does not choose from a catalog; name another one")
    return None


def _check_executor(
    options: RunOptions, commands: Mapping[str, AgentCommand], objects: RunObjects, given: Executor | None
) -> None:
    """See that the agents can run where they are asked to."""
    if objects.agents:
        check_run_sandbox(options, None)
    if objects.agents and set(options.frameworks) <= set(objects.agents):
        return
    executor = type(given) if given is not None else load_driver("executors", options.executor)
    check_executor(options, executor)
    check_run_sandbox(options, executor)
    if commands and not executor.runs_commands:
        raise UsageError(
            f"--executor {options.executor} cannot run programs; leave out --command, or use another executor"
        )
