"""The frozen configuration of a run, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from trialbed.agent_programs import AgentCommand
from trialbed.catalogs import ApiCatalog, ids_of
from trialbed.contracts import Dataset, ModelInfo
from trialbed.environments import adapter_digest, adapter_info, runs_here
from trialbed.errors import DriverNotFound
from trialbed.plugin_files import given_files
from trialbed.preparation._options import NO_OBJECTS, RunObjects, RunOptions
from trialbed.preparation._variations import spread, variations_of
from trialbed.records import (
    COMMON_NAME,
    Environment,
    Query,
    RunConfig,
    framework_name,
    framework_package,
    plan_text,
    read_fault_plan,
)
from trialbed.settings import IdentitySettings

FOLLOWING = ("told_as", "dataset_file")
"""Fields that follow from others, or only name them, so that they distinguish no two configurations."""


def config_digest(config: RunConfig) -> str:
    """SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest.

    A setting counts only where it differs from its default, so that a run is the same as before one was added.
    """
    values = config.model_dump(mode="json", exclude_defaults=True, exclude={*FOLLOWING})
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def run_config(
    options: RunOptions,
    dataset: Dataset,
    queries: Sequence[Query],
    version: str,
    commands: Mapping[str, AgentCommand],
    *,
    dataset_file: str = "",
    objects: RunObjects = NO_OBJECTS,
    catalog: ApiCatalog | None = None,
    model: ModelInfo = ModelInfo(),  # noqa: B008 - it is frozen
) -> RunConfig:
    """The frozen configuration of these options.

    Args:
        commands: the programs among the frameworks.
        dataset_file: the file of tasks that was given, where the options name a copy.
        objects: the parts of the run that are objects of this process, which no installed distribution answers for.
        catalog: the Apis that the selector chooses from; None if it needs none.
        model: as its driver describes it.
    """
    variations = variations_of(options, options.frameworks, _told_as)
    adapters = [name for name in options.frameworks if name not in commands and name not in objects.agents]
    # Not the file's name: its content decides which run this is.
    faults = None if options.faults is None else plan_text(read_fault_plan(options.faults))
    return RunConfig(
        **{item.name: getattr(options, item.name) for item in fields(IdentitySettings)}
        | {"faults": faults, "frameworks": (*options.frameworks, *variations)},
        adapter_versions=spread(
            adapter_versions(adapters, options.environments) | dict.fromkeys(commands, "command"), variations
        ),
        adapter_digests=spread(
            {name: adapter_digest(name, options.environments.get(name)) for name in adapters}
            | {name: command.digest() for name, command in commands.items()},
            variations,
        ),
        test_set=dataset.test_set,
        dataset_file=dataset_file,
        dataset_digest=dataset.digest(),
        catalog_digest=None if catalog is None else catalog.digest,
        catalog_apis=None if catalog is None else len(catalog),
        query_ids=ids_of(queries),
        trialbed_version=version,
        code_digest=objects.code_digest(),
        model_identity=model.identity,
        told_as=_told_as(options, model),
        variations=variations,
        plugin_files=dict(given_files()),
    )


def _told_as(options: RunOptions, model: ModelInfo) -> str | None:
    """The name that frameworks are given, where it is not the usual one."""
    usual = COMMON_NAME if options.base_url is None else options.model
    told = model.told_name or options.model
    return None if told == usual else told


def adapter_versions(frameworks: Iterable[str], environments: Mapping[str, Environment]) -> dict[str, str]:
    """``framework -> adapter distribution and version, or the lock of its environment``; imports none of them."""
    found: dict[str, str] = {}
    for framework in frameworks:
        environment = environments.get(framework)
        if environment is not None:
            found[framework] = f"lock {environment.lock_digest}"
            continue
        info = adapter_info(framework_name(framework))
        if not runs_here(framework):
            wanted = framework_package(framework)
            raise DriverNotFound(
                f"frameworks: {wanted} is not the release that is installed here, and has no environment yet: "
                f"build one with `bench env add {wanted}`, and `bench run` uses it"
            )
        found[framework] = f"{info.distribution} {info.version}"
    return found
