"""The plan of a run: its options, its dataset and queries, its configuration and its trials."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from trialbed.agent_programs import AgentCommand, check_names
from trialbed.catalogs import ApiCatalog
from trialbed.contracts import Dataset
from trialbed.engine._objects import NO_OBJECTS, RunObjects
from trialbed.environments import adapter_digest, adapter_info, expand_profiles, runs_here
from trialbed.errors import DriverNotFound, UsageError
from trialbed.records import Api, Environment, Query, RunConfig, TrialKey, framework_name, framework_package
from trialbed.settings import IdentitySettings, RunSettings, plan_text, read_fault_plan


@dataclass(frozen=True, kw_only=True)
class RunOptions(RunSettings):
    """The settings of a run, and what the code that asks for it adds.

    Attributes:
        server_port: the port of a server that is started; 0 for any.
        environments: framework as asked for -> its own environment, for those that do not run in this interpreter.
        fresh: discard an unfinished run of the same configuration instead of resuming it.
        retry_failed: run the failed trials of the latest run of this configuration again.
        extend: the id of a run that becomes one of this configuration by more frameworks, queries or repeats, or
            ``last`` for the latest that can; None for no such run.
        allow_incomplete: where some trials are not measured, compare frameworks over the queries that all have.
        gold_answers: make each query's gold calls once, before its trials, and keep what they are answered.
    """

    server_port: int = 0
    environments: Mapping[str, Environment] = field(default_factory=dict)
    fresh: bool = False
    retry_failed: bool = False
    extend: str | None = None
    allow_incomplete: bool = False
    gold_answers: bool = False


def with_profiles(options: RunOptions, live: Collection[str] = ()) -> RunOptions:
    """The options with each framework under its label in the run, which names its profile, and its environment.

    Args:
        live: labels of agents of this process, which stay as they are.

    Raises:
        UsageError, DriverNotFound: as ``expand_profiles`` says.
    """
    labels: dict[str, str] = {}
    for asked in options.frameworks:
        own = {asked: asked} if asked in live else expand_profiles((asked,), options.profiles, options.environments)
        labels = labels | {label: asked for label in own if label not in labels}
    environments = {
        label: options.environments[asked] for label, asked in labels.items() if asked in options.environments
    }
    return replace(options, frameworks=tuple(labels), environments=environments)


def with_commands(options: RunOptions, commands: Mapping[str, AgentCommand]) -> RunOptions:
    """The options with the programs among the frameworks.

    Raises:
        UsageError: a program is called like a framework.
    """
    check_names(commands, options.frameworks)
    declared = tuple(command.declaration for command in commands.values())
    return replace(options, frameworks=(*options.frameworks, *commands), commands=declared)


def choose_queries(dataset: Dataset, limit: int | None, query_ids: Sequence[str]) -> tuple[Query, ...]:
    """The queries of a run, in the dataset's order.

    Raises:
        UsageError: a query id is not in the dataset, or nothing is left.
    """
    queries = list(dataset.queries())
    if query_ids:
        known = {str(query.query_id) for query in queries}
        missing = [wanted for wanted in query_ids if wanted not in known]
        if missing:
            raise UsageError(f"--query-id: {dataset.test_set} has no query {', '.join(missing)}")
        queries = [query for query in queries if str(query.query_id) in set(query_ids)]
    chosen = tuple(queries[:limit])
    if not chosen:
        raise UsageError(f"{dataset.test_set} has no queries to run")
    return chosen


@dataclass(frozen=True)
class Prepared:
    """The parts of a run that do not depend on the server or the workers.

    Attributes:
        catalog: what the selector chooses from; None if it needs none.
        objects: the parts of it that are objects of this process.
    """

    options: RunOptions
    dataset: Dataset
    queries: tuple[Query, ...]
    config: RunConfig
    commands: Mapping[str, AgentCommand] = field(default_factory=dict)
    catalog: ApiCatalog | None = None
    objects: RunObjects = NO_OBJECTS

    @property
    def simulator(self) -> str:
        """The simulator that answers for Apis which nothing of this process answers for."""
        chosen = self.objects.simulator
        return chosen if isinstance(chosen, str) else self.dataset.simulator

    def apis(self) -> Sequence[Api]:
        """The Apis that may be offered."""
        return self.dataset.apis() if self.catalog is None else self.catalog


def run_config(
    options: RunOptions,
    dataset: Dataset,
    queries: Sequence[Query],
    version: str,
    commands: Mapping[str, AgentCommand],
    *,
    objects: RunObjects = NO_OBJECTS,
    catalog: ApiCatalog | None = None,
) -> RunConfig:
    """The frozen configuration of these options.

    Args:
        commands: the programs among the frameworks.
        objects: the parts of the run that are objects of this process, which no installed distribution answers for.
        catalog: what the selector chooses from; None if it needs none.
    """
    adapters = [name for name in options.frameworks if name not in commands and name not in objects.agents]
    # Not the file's name: its content decides which run this is.
    faults = None if options.faults is None else plan_text(read_fault_plan(options.faults))
    return RunConfig(
        **{item.name: getattr(options, item.name) for item in fields(IdentitySettings)} | {"faults": faults},
        adapter_versions=adapter_versions(adapters, options.environments) | dict.fromkeys(commands, "command"),
        adapter_digests=adapter_digests(adapters, options.environments)
        | {name: command.digest() for name, command in commands.items()},
        test_set=dataset.test_set,
        dataset_digest=dataset.digest(),
        catalog_digest=None if catalog is None else catalog.digest,
        catalog_apis=None if catalog is None else len(catalog),
        query_ids=tuple(query.query_id for query in queries),
        trialbed_version=version,
        code_digest=objects.code_digest(),
    )


def adapter_versions(frameworks: Iterable[str], environments: Mapping[str, Environment]) -> dict[str, str]:
    """``framework -> adapter distribution and version, or the lock of its environment``; imports none of them."""
    return {framework: _adapter_version(framework, environments.get(framework)) for framework in frameworks}


def adapter_digests(frameworks: Iterable[str], environments: Mapping[str, Environment]) -> dict[str, str]:
    """``framework -> SHA-256`` over its adapter's files and the versions of what that needs; imports none of them."""
    return {framework: adapter_digest(framework, environments.get(framework)) for framework in frameworks}


def _adapter_version(framework: str, environment: Environment | None) -> str:
    if environment is not None:
        return f"lock {environment.lock_digest}"
    info = adapter_info(framework_name(framework))
    if not runs_here(framework):
        wanted = framework_package(framework)
        raise DriverNotFound(
            f"frameworks: {wanted} is not the release that is installed here, and has no environment yet: "
            f"build one with `bench env add {wanted}`, and `bench run` uses it"
        )
    return f"{info.distribution} {info.version}"


def trial_keys(config: RunConfig) -> list[TrialKey]:
    """Every trial of a run, query by query with the frameworks side by side.

    So an interrupted run has its frameworks compared on the same queries, and what changes while a run
    lasts changes for all of them. They take turns at being first: the first to call an Api waits for its
    answer to be made, the others find it in the cache.
    """
    return [
        TrialKey(framework=framework, query_id=query_id, repeat=repeat)
        for repeat in range(config.repeat)
        for number, query_id in enumerate(config.query_ids)
        for framework in _rotated(config.frameworks, number + repeat)
    ]


def _rotated(items: Sequence[str], by: int) -> Sequence[str]:
    start = by % len(items)
    return (*items[start:], *items[:start])


def by_id(queries: Sequence[Query]) -> Mapping[int | str, Query]:
    """The queries under their ids."""
    return {query.query_id: query for query in queries}
