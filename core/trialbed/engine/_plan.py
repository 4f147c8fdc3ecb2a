"""Which run this is, and which of its trials are still to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from trialbed.contracts import Dataset
from trialbed.engine._identity import config_digest, environment_digest, new_run_id
from trialbed.engine._options import RunOptions
from trialbed.environments import adapter_info, runs_here
from trialbed.errors import DriverNotFound
from trialbed.installed import installed_packages
from trialbed.records import Environment, Query, Run, RunConfig, TrialKey, framework_name
from trialbed.run_settings import IdentitySettings


@dataclass(frozen=True)
class Prepared:
    """What a run needs that does not depend on the server or the workers."""

    options: RunOptions
    dataset: Dataset
    queries: tuple[Query, ...]
    config: RunConfig


def run_config(
    options: RunOptions, dataset: Dataset, queries: Sequence[Query], version: str, *, in_process: bool
) -> RunConfig:
    """The frozen configuration of these options.

    Args:
        in_process: the framework is a live object, which no installed distribution answers for.
    """
    return RunConfig(
        **{item.name: getattr(options, item.name) for item in fields(IdentitySettings)},
        adapter_versions={} if in_process else adapter_versions(options.frameworks, options.environments),
        test_set=dataset.test_set,
        dataset_digest=dataset.digest(),
        query_ids=tuple(query.query_id for query in queries),
        trialbed_version=version,
    )


def adapter_versions(frameworks: Iterable[str], environments: Mapping[str, Environment]) -> dict[str, str]:
    """``framework -> adapter distribution and version, or the lock of its environment``; imports none of them."""
    return {framework: _adapter_version(framework, environments.get(framework)) for framework in frameworks}


def _adapter_version(framework: str, environment: Environment | None) -> str:
    if environment is not None:
        return f"lock {environment.lock_digest}"
    info = adapter_info(framework_name(framework))
    if not runs_here(framework):
        raise DriverNotFound(
            f"frameworks: {framework} is not the release that is installed here, and has no environment yet: "
            f"build one with `bench env add {framework}`, and `bench run` uses it"
        )
    return f"{info.distribution} {info.version}"


def new_run(config: RunConfig) -> Run:
    """A run of this configuration that has not begun."""
    lines = installed_packages()
    return Run(
        run_id=new_run_id(),
        config=config,
        config_digest=config_digest(config),
        status="running",
        created_at=datetime.now(UTC),
        environment_digest=environment_digest(lines),
        environment=lines,
    )


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
