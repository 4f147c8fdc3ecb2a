"""The plan of a run: its queries, its configuration, its trials, and the stored run that it continues."""

from __future__ import annotations

import hashlib
import json
import secrets
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, overload

from trialbed.agent_programs import AgentCommand
from trialbed.catalogs import ApiCatalog, ids_of
from trialbed.contracts import Dataset, ModelInfo
from trialbed.engine._model_cache import CacheChoice
from trialbed.engine._options import NO_OBJECTS, RunObjects, RunOptions
from trialbed.engine._variations import spread, variations_of
from trialbed.environments import adapter_digest, adapter_info, runs_here
from trialbed.errors import DriverNotFound, UsageError
from trialbed.plugin_files import given_files
from trialbed.records import (
    COMMON_NAME,
    Api,
    Environment,
    Query,
    Run,
    RunConfig,
    TrialKey,
    framework_name,
    framework_package,
)
from trialbed.settings import IdentitySettings, plan_text, read_fault_plan
from trialbed.store import AttemptSummary, Store, counted_attempts

SEED_BITS = 31
"""Seeds stay below 2**31: every framework and vendor accepts those."""


TOLD = "told_as"
"""Follows from the model, so that it tells no two configurations apart."""


def config_digest(config: RunConfig) -> str:
    """SHA-256 of the configuration as canonical JSON; the same command resumes the run with the same digest.

    A setting counts only where it differs from its default, so that a run is the same as before one was added.
    """
    values = config.model_dump(mode="json", exclude_defaults=True, exclude={TOLD})
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """The trial's own seed in [0, 2**31), from (run seed, query, repeat) and nothing else.

    It is the same for every framework: a model that samples answers equal requests of two frameworks equally.
    """
    text = json.dumps([run_seed, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def new_trial_token() -> str:
    """A token for a trial's URLs: unguessable, since it is their only protection."""
    return secrets.token_urlsafe(15)


@dataclass(frozen=True)
class Prepared:
    """The parts of a run that do not depend on the server or the workers.

    Attributes:
        catalog: the Apis that the selector chooses from; None if it needs none.
        objects: the parts of it that are objects of this process.
        caches: model -> what keeps its answers; None for nothing.
        notes: for the user, before the first trial, a sentence each.
    """

    options: RunOptions
    dataset: Dataset
    queries: Sequence[Query]
    config: RunConfig
    commands: Mapping[str, AgentCommand] = field(default_factory=dict)
    catalog: ApiCatalog | None = None
    objects: RunObjects = NO_OBJECTS
    caches: Mapping[str, CacheChoice | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def cache(self) -> CacheChoice | None:
        """The one file in which the answers of its models are kept; None where none are."""
        return next((cache for cache in self.caches.values() if cache is not None), None)

    @property
    def cached_as(self) -> dict[str, str]:
        """The identities of the models whose answers are kept."""
        return {model: cache.identity for model, cache in self.caches.items() if cache is not None}

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
    model: ModelInfo = ModelInfo(),  # noqa: B008 - it is frozen
) -> RunConfig:
    """The frozen configuration of these options.

    Args:
        commands: the programs among the frameworks.
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
            adapter_digests(adapters, options.environments)
            | {name: command.digest() for name, command in commands.items()},
            variations,
        ),
        test_set=dataset.test_set,
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
    return [trial_key(config, number) for number in range(count_trials(config))]


def count_trials(config: RunConfig) -> int:
    """Return how many trials a run has."""
    return config.repeat * len(config.query_ids) * len(config.frameworks)


def trial_key(config: RunConfig, number: int) -> TrialKey:
    """The trial of a run at this place among ``trial_keys``."""
    own, every = len(config.frameworks), len(config.query_ids)
    place, turn = divmod(number, own)
    repeat, query = divmod(place, every)
    framework = config.frameworks[(query + repeat + turn) % own]
    return TrialKey(framework=framework, query_id=config.query_ids[query], repeat=repeat)


class DueTrials(Sequence[tuple[TrialKey, int]]):
    """Trials that are due, each with the number of its next attempt; they are made when they are looked at."""

    def __init__(self, config: RunConfig, numbers: Sequence[int], attempts: Mapping[int, int]) -> None:
        self._config = config
        self._numbers = numbers
        self._attempts = attempts

    @overload
    def __getitem__(self, place: int) -> tuple[TrialKey, int]: ...

    @overload
    def __getitem__(self, place: slice) -> DueTrials: ...

    def __getitem__(self, place: int | slice) -> Any:
        """The trial at a place, or those of a part."""
        if isinstance(place, slice):
            return DueTrials(self._config, self._numbers[place], self._attempts)
        number = self._numbers[place]
        return trial_key(self._config, number), self._attempts.get(number, 0)

    def __len__(self) -> int:
        """Their number."""
        return len(self._numbers)


class TrialQueue:
    """Trials that wait for a lane, in order, and those that go before them; each is made when it is taken."""

    def __init__(self, due: Sequence[tuple[TrialKey, int]]) -> None:
        self._due = due
        self._taken = 0
        self._before: list[tuple[TrialKey, int]] = []

    def __len__(self) -> int:
        """The number of those that wait."""
        return len(self._before) + len(self._due) - self._taken

    def popleft(self) -> tuple[TrialKey, int]:
        """Take the first one."""
        if self._before:
            return self._before.pop()
        self._taken += 1
        return self._due[self._taken - 1]

    def appendleft(self, trial: tuple[TrialKey, int]) -> None:
        """Have one go before all others."""
        self._before.append(trial)


LAST = "last"
"""Stands for the latest run that fits, instead of a run's id."""

LATEST = 50
"""Number of runs among which one is looked for that a remark is about."""

CODE = ("adapter_versions", "adapter_digests")
FILES = "plugin_files"
GROWING = ("frameworks", "commands", "query_ids", "repeat", "variations")
"""Fields that identify the adapters' code, that of plugins in files, and those that may grow in a run that is
extended."""


def find_run(store: Store, prepared: Prepared) -> Run | None:
    """The stored run that the command continues; None if it starts one.

    Raises:
        UsageError: a run is asked for that the command cannot continue; says why.
        DataError: the store has no run of the id that is asked for.
    """
    options, config = prepared.options, prepared.config
    if sum((options.fresh, options.retry_failed, options.extend is not None)) > 1:
        raise UsageError("--fresh, --retry-failed and --extend exclude one another; give one of them")
    if options.retry_failed:
        return _latest_of(store, config)
    if options.extend is not None:
        return _run_to_extend(store, config, options.extend)
    return store.unfinished_run(config_digest(config))


def remarks(store: Store, prepared: Prepared) -> Iterator[str]:
    """Yield remarks before a new run is started although the user may mean another."""
    if prepared.options.fresh:
        return
    config = prepared.config
    for run in store.runs(limit=LATEST):
        changed = _changed_since(run.config, config)
        if changed and run.status != "finished":
            yield f"{changed} changed since run {run.run_id} began: a new run is started"
            return
        if run.config != config and why_not_extended(run.config, config) is None:
            kept, total = len(store.finished_keys(run.run_id)), count_trials(config)
            yield f"run {run.run_id} has {kept} of these {total} trials; with --extend it is continued instead"
            return


def trials_to_run(config: RunConfig, attempts: Iterable[AttemptSummary], options: RunOptions) -> DueTrials:
    """The trials that are due, in the order in which they run, each with the number of its next attempt.

    Those are due that were never measured. With ``retry_failed`` also those that failed, unless one was answered by
    today's code of its adapter: a further answer would change nothing.
    """
    of_trial: dict[TrialKey, list[AttemptSummary]] = defaultdict(list)
    for attempt in attempts:
        of_trial[attempt.key].append(attempt)
    if not of_trial:
        return DueTrials(config, range(count_trials(config)), {})
    numbers, next_attempts = array("Q"), {}
    for number in range(count_trials(config)):
        key = trial_key(config, number)
        own = of_trial.get(key, ())
        if _is_due(own, options, config.adapter_digests.get(key.framework, "")):
            numbers.append(number)
            if own:
                next_attempts[number] = max(attempt.attempt for attempt in own) + 1
    return DueTrials(config, numbers, next_attempts)


def _is_due(own: Sequence[AttemptSummary], options: RunOptions, adapter_digest: str) -> bool:
    if all(attempt.status == "not measured" for attempt in own):
        return True
    if not options.retry_failed:
        return False
    answered = any(attempt.status == "answered" and attempt.adapter_digest == adapter_digest for attempt in own)
    return counted_attempts(own)[0].status == "failed" and not answered


def why_not_extended(there: RunConfig, here: RunConfig) -> str | None:
    """Return why a run of one configuration does not become one of another by more trials; None if it does."""
    if files := _changed_files(there, here):
        return f"{files} changed since it began"
    for name, value in _values(there, without=(*CODE, *GROWING)).items():
        if value != getattr(here, name):
            return f"its {name.replace('_', ' ')} is {value!r}, not {getattr(here, name)!r}"
    fewer = [framework for framework in there.frameworks if framework not in here.frameworks]
    if fewer:
        return f"it has the framework {', '.join(fewer)} too; name it as well"
    missing = len(set(there.query_ids) - set(here.query_ids))
    if missing:
        return f"it has {missing} queries that are not chosen here"
    if there.repeat > here.repeat:
        return f"its repeats are {there.repeat}, not {here.repeat}"
    other = [label for label, own in there.variations.items() if own != here.variations.get(label)]
    changed = _changed_adapters(there, here) or (f"the model of {', '.join(other)}" if other else None)
    return f"{changed} changed since it began" if changed else None


def _latest_of(store: Store, config: RunConfig) -> Run:
    why = ""
    for run in store.runs(limit=None):
        if _values(run.config, without=(*CODE, FILES)) == _values(config, without=(*CODE, FILES)):
            files = _changed_files(run.config, config)
            if files is None:
                return run
            # An older run may have the same files; if none has, the latest one is what the user means.
            why = why or f"{files} changed since run {run.run_id} began"
    if why:
        raise UsageError(
            f"--retry-failed: {why}, whose other trials would not be graded alike; leave the option out to start a "
            "new run"
        )
    raise UsageError("--retry-failed: the store has no run of this configuration; leave the option out to start one")


def _run_to_extend(store: Store, config: RunConfig, wanted: str) -> Run:
    any_run = wanted in (LAST, "latest")
    runs = store.runs(limit=None) if any_run else [store.find_run(wanted)]
    reasons = {run.run_id: why_not_extended(run.config, config) for run in runs}
    for run in runs:
        if reasons[run.run_id] is None:
            return run
    if not runs:
        raise UsageError("--extend: the store has no run yet; leave the option out to start one")
    first = runs[0].run_id
    which = f"the latest run, {first}," if any_run else f"run {first}"
    raise UsageError(f"--extend: {which} cannot become what this command asks for: {reasons[first]}")


def _changed_since(there: RunConfig, here: RunConfig) -> str | None:
    """Return the part that keeps a run of the same settings from being continued: adapters, or Trialbed."""
    other = (*CODE, FILES, "trialbed_version")
    if _values(there, without=other) != _values(here, without=other):
        return None
    if there.trialbed_version != here.trialbed_version:
        return "Trialbed"
    return _changed_adapters(there, here) or _changed_files(there, here)


def _changed_files(there: RunConfig, here: RunConfig) -> str | None:
    """The plugins in files that are not the same, in words."""
    before, now = there.plugin_files, here.plugin_files
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return f"the file of {', '.join(changed)}" if changed else None


def _changed_adapters(there: RunConfig, here: RunConfig) -> str | None:
    """The adapters of common frameworks that are not the same, in words."""
    changed = [
        framework
        for framework in there.frameworks
        if framework in here.frameworks
        and any(getattr(there, name).get(framework) != getattr(here, name).get(framework) for name in CODE)
    ]
    return f"the adapter of {', '.join(changed)} or its environment" if changed else None


def _values(config: RunConfig, *, without: Sequence[str]) -> dict[str, object]:
    left_out = {*without, TOLD}
    return {name: getattr(config, name) for name in type(config).model_fields if name not in left_out}
