"""The frozen configuration of a run, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path

from trialbed.agent_programs import AgentCommand
from trialbed.catalogs import ApiCatalog
from trialbed.contracts import Dataset, ModelInfo
from trialbed.environments import adapter_digest, adapter_info, runs_here
from trialbed.errors import DataError, DriverNotFound, UsageError
from trialbed.files import read_text
from trialbed.installed import own_version
from trialbed.plugin_files import given_files
from trialbed.preparation._options import NO_OBJECTS, RunObjects, RunOptions, Setup
from trialbed.records import (
    SETTINGS,
    Environment,
    Query,
    RunCell,
    RunConfig,
    framework_name,
    framework_package,
    plan_text,
    read_fault_plan,
)
from trialbed.settings import IdentitySettings
from trialbed.texts import decimal_text
from trialbed.wire.addresses import short_address, split_address

FOLLOWING = ("dataset_file", "tags")
"""Fields that only name results of other fields, and do not distinguish configurations."""


def config_digest(config: RunConfig) -> str:
    """Return the SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest.

    A setting counts only if it differs from its default. New settings therefore do not change the digests of older
    runs.
    """
    values = config.model_dump(mode="json", exclude_defaults=True, exclude={*FOLLOWING})
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def run_config(
    options: RunOptions,
    dataset: Dataset,
    queries: Sequence[Query],
    commands: Mapping[str, AgentCommand],
    models: Mapping[str, ModelInfo],
    *,
    dataset_file: str = "",
    objects: RunObjects = NO_OBJECTS,
    catalog: ApiCatalog | None = None,
) -> RunConfig:
    """Return the frozen configuration of these options.

    Args:
        commands: the programs among the frameworks.
        models: by name, described by their drivers.
        dataset_file: the file of tasks that was given, if the options name a copy.
        objects: the parts of the run that are objects of this process and belong to no installed distribution.
        catalog: the Apis that the selector chooses from; None if it needs no catalog.
    """
    adapters = [name for name in options.frameworks if name not in commands and name not in objects.agents]
    # Not the file's name: its content decides which run this is.
    faults = None if options.faults is None else plan_text(read_fault_plan(options.faults))
    return RunConfig(
        **{item.name: getattr(options, item.name) for item in fields(IdentitySettings)} | {"faults": faults},
        cells=tuple(_cells(options, models)),
        adapter_versions=adapter_versions(adapters, options.environments) | dict.fromkeys(commands, "command"),
        adapter_digests={name: adapter_digest(name, options.environments.get(name)) for name in adapters}
        | {name: command.digest() for name, command in commands.items()},
        test_set=dataset.test_set,
        dataset_file=dataset_file,
        dataset_digest=dataset.digest(),
        catalog_digest=None if catalog is None else catalog.digest,
        catalog_apis=None if catalog is None else len(catalog),
        query_ids=tuple(query.query_id for query in queries),
        trialbed_version=own_version(),
        code_digest=objects.code_digest(),
        plugin_files=dict(given_files()),
        tags={
            tag: tuple(query.query_id for query in queries if tag in query.tags)
            for tag in dict.fromkeys(tag for query in queries for tag in query.tags)
        },
    )


def _cells(options: RunOptions, models: Mapping[str, ModelInfo]) -> Iterator[RunCell]:
    """Yield the columns of a run; each label has every setting with several values in the run."""
    # With the host of their endpoint alone, unless another model has that name.
    names = {model: model for model in options.model if split_address(model)[1] is None}
    for model in options.model:
        short = short_address(model)
        names.setdefault(model, model if short in names.values() else short)
    temperatures: Sequence[float | None] = options.temperature or (None,)
    prompts: dict[str, str | None] = {}
    for place, given in enumerate(options.system_prompt, 1):
        prompt_name, text = _read_prompt(given, place)
        prompts[f"{prompt_name} {place}" if prompt_name in prompts else prompt_name] = text
    prompts = prompts or {"": None}
    columns = options.columns or {name: Setup(name) for name in options.frameworks}
    factors = options.model, temperatures, tuple(prompts), options.max_tools
    for combination in product(*factors):
        model, temperature, prompt, most = combination
        words = names[model], f"temperature={decimal_text(temperature or 0)}", prompt, f"max_tools={most}"
        for name, setup in columns.items():
            own = None, setup.temperature, setup.system_prompt, None
            places = [place for place, value in enumerate(own) if value is None]
            if any(combination[place] != factors[place][0] for place in {0, 1, 2, 3} - {*places}):
                continue  # a setup with its own value stands once
            differing = [words[place] for place in places if len(factors[place]) > 1]
            yield RunCell(
                label=f"{name}{SETTINGS}{','.join(differing)}" if differing else name,
                framework=setup.agent,
                model=model,
                model_identity=models[model].identity,
                told_model=options.model_name or models[model].told_name or model,
                temperature=temperature if setup.temperature is None else setup.temperature,
                max_tools=most,
                system_prompt=prompts[prompt] if own[2] is None else _read_prompt(own[2], 1)[1],
            )


LARGEST_PROMPT = 1_000_000
"""Characters of a system prompt."""


def _read_prompt(given: str, place: int) -> tuple[str, str]:
    """Return the name of a system prompt in labels, and its text; without spaces, it is the path of a file.

    Raises:
        UsageError: it is empty or too long, or its file cannot be read.
    """
    name, text = f"prompt {place}", given
    if len(given.split()) == 1 or (given and len(given) < 500 and Path(given).is_file()):
        try:
            name, text = Path(given).stem, read_text(Path(given))
        except DataError as error:
            raise UsageError(f"system_prompt: {error}") from error
    if not text.strip() or len(text) > LARGEST_PROMPT:
        raise UsageError(f"system_prompt: {given[:80]!r} is empty, or has more than {LARGEST_PROMPT:,} characters")
    return name, text


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
