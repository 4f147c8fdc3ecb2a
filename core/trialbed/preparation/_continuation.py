"""The trials of a run with their seeds, and the stored run that a command continues."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trialbed.errors import UsageError
from trialbed.preparation._configuration import FOLLOWING, config_digest
from trialbed.preparation._options import Prepared
from trialbed.records import Run, RunConfig, TrialKey
from trialbed.store import AttemptSummary, Store, counted_attempts
from trialbed.texts import number_of

SEED_BITS = 31
"""Seeds stay below 2**31, which every framework and vendor accepts."""


def trial_seed(run_seed: int, key: TrialKey) -> int:
    """Return the trial's own seed in [0, 2**31), from (run seed, query, repeat) and nothing else.

    It is the same for every framework: a model that samples answers equal requests of two frameworks equally.
    """
    text = json.dumps([run_seed, key.query_id, key.repeat], ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def trial_keys(config: RunConfig) -> list[TrialKey]:
    """Return every trial of a run, query by query with the frameworks side by side.

    So an interrupted run has its frameworks compared on the same queries, and what changes while a run lasts changes
    for all of them. They take turns at being first: the first to call an Api waits for its answer to be made, the
    others find it in the cache.
    """
    names = config.frameworks
    return [
        TrialKey(framework=names[(place + repeat + turn) % len(names)], query_id=query_id, repeat=repeat)
        for repeat in range(config.repeat)
        for place, query_id in enumerate(config.query_ids)
        for turn in range(len(names))
    ]


def count_trials(config: RunConfig) -> int:
    """Return how many trials a run has."""
    return config.repeat * len(config.query_ids) * len(config.frameworks)


class DueTrials(NamedTuple):
    """The trials of a run that are due, in their order, each with the number of its next attempt.

    Attributes:
        measured: the frameworks with measured trials.
        current: the frameworks with trials measured by their adapters' current code.
    """

    trials: list[tuple[TrialKey, int]]
    measured: set[str]
    current: set[str]


def due_trials(config: RunConfig, attempts: Iterable[AttemptSummary], *, retry_failed: bool = False) -> DueTrials:
    """Return the trials that were never measured in the attempts of a run so far.

    ``retry_failed`` adds failed trials, unless one was answered by the adapter's current code. A further answer would
    change nothing.
    """
    digests = {cell.label: config.adapter_digests.get(cell.framework, "") for cell in config.cells}
    found, by_key = DueTrials([], set(), set()), defaultdict[TrialKey, list[AttemptSummary]](list)
    for attempt in attempts:
        label = attempt.key.framework
        by_key[attempt.key].append(attempt)
        if attempt.status != "not measured":
            found.measured.add(label)
            if attempt.adapter_digest == digests[label]:
                found.current.add(label)
    for key in trial_keys(config):
        own = by_key.get(key, [])
        is_due = all(attempt.status == "not measured" for attempt in own)
        if not is_due and retry_failed and counted_attempts(own)[0].status == "failed":
            today = digests[key.framework]
            is_due = not any(attempt.status == "answered" and attempt.adapter_digest == today for attempt in own)
        if is_due:
            found.trials.append((key, max((attempt.attempt for attempt in own), default=-1) + 1))
    return found


LAST = "last"
"""Stands for the latest run that fits, instead of a run's id."""

LATEST = 50
"""Number of runs among which one is looked for that a remark is about."""

CODE = ("adapter_versions", "adapter_digests")
FILES = "plugin_files"
GROWING = ("cells", "commands", "query_ids", "repeat")
"""Fields that identify the code of adapters and plugins in files, and fields that may grow when a run is extended."""


def find_run(store: Store, prepared: Prepared) -> Run | None:
    """Return the stored run that the command continues; None if it starts one.

    Raises:
        UsageError: a run is asked for that the command cannot continue; says why.
        DataError: the store has no run of the id that is asked for.
    """
    options, config = prepared.options, prepared.config
    if sum((options.fresh, options.retry_failed, options.extend is not None)) > 1:
        raise UsageError("--fresh, --retry-failed and --extend cannot be combined; give one of them")
    if options.retry_failed:
        return _latest_of(store, config)
    if options.extend is not None:
        return _run_to_extend(store, config, options.extend)
    return store.unfinished_run(config_digest(config))


def remarks(store: Store, prepared: Prepared) -> Iterator[str]:
    """Yield remarks for the user before a new run, about limits that it needs, or another run they may mean."""
    config = prepared.config
    # One request for each call, and one for the answer; the limit counts for each message of the user.
    steps = []
    for query in prepared.queries.values():
        calls = [turn.calls for turn in query.turns]
        steps.append(len(query.gold_calls) - sum(calls) + max(calls, default=0) + 1)
    if (long := sum(step > config.max_steps for step in steps)) > 0:
        yield (
            f"{number_of(long, 'task', 'tasks')} can take more than {config.max_steps} requests if the calls are "
            f"made one at a time: --max-steps {max(steps)} is enough for all"
        )
    if prepared.options.fresh:
        return
    for run in store.runs(limit=LATEST):
        changed = _changed_since(run.config, config)
        if changed and run.status != "finished":
            yield f"{changed} changed since run {run.run_id} began: a new run is started"
            return


def with_labels_of(there: RunConfig, here: RunConfig) -> RunConfig:
    """Return a configuration with the labels of a run that it goes on with, which had fewer models, for example."""
    known = {cell.model_copy(update={"label": ""}): cell.label for cell in there.cells}
    labels = [known.get(cell.model_copy(update={"label": ""}), cell.label) for cell in here.cells]
    cells = [cell.model_copy(update={"label": label}) for cell, label in zip(here.cells, labels, strict=True)]
    return here.model_copy(update={"cells": tuple(cells)})


def why_not_extended(there: RunConfig, here: RunConfig) -> str | None:
    """Return why more trials cannot turn a run of one configuration into another's, or None if they can."""
    here = with_labels_of(there, here)
    if files := _changed_files(there, here):
        return f"{files} changed since it began"
    if there.named_dataset == here.named_dataset and there.dataset_digest != here.dataset_digest:
        return f"the tasks of {here.named_dataset} changed since it began"
    for name, value in _values(there, without=(*CODE, *GROWING)).items():
        if value != getattr(here, name):
            return f"its {name.replace('_', ' ')} is {value!r}, not {getattr(here, name)!r}"
    for name in ("model", "model_identity", "temperature", "max_tools", "system_prompt"):
        before, now = (getattr(config.cells[0], name) for config in (there, here))
        if before != now:
            return f"its {name.replace('_', ' ')} is {before!r}, not {now!r}"
    shrinks = not {*there.frameworks} <= {*here.frameworks} or not {*there.query_ids} <= {*here.query_ids}
    if shrinks or there.repeat > here.repeat:
        return "it has frameworks, tasks or repeats that are not asked for here"
    other = [cell.label for cell in there.cells if cell not in here.cells]
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
            f"--retry-failed: {why}, so its trials would not be graded alike; leave the option out to start a new run"
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
    raise UsageError(f"--extend: {which} cannot be extended by this command: {reasons[first]}")


def _changed_since(there: RunConfig, here: RunConfig) -> str | None:
    """Return the change that keeps a run of the same settings from being continued, such as another Trialbed."""
    edited = there.dataset_digest != here.dataset_digest
    # Tasks that are added or renamed are chosen by other ids; a copy of them is another file.
    copied = there.dataset_file == here.dataset_file != ""
    moved = ("dataset_digest", "query_ids", *(("dataset",) if copied else ())) if edited else ()
    other = (*CODE, FILES, "trialbed_version", *moved)
    if _values(there, without=other) != _values(here, without=other):
        return None
    if there.trialbed_version != here.trialbed_version:
        return "Trialbed"
    tasks = f"the tasks of {here.named_dataset}" if edited else None
    return _changed_adapters(there, here) or _changed_files(there, here) or tasks


def _changed_files(there: RunConfig, here: RunConfig) -> str | None:
    """Describe the plugins in files that have changed."""
    before, now = there.plugin_files, here.plugin_files
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return f"the file of {', '.join(changed)}" if changed else None


def _changed_adapters(there: RunConfig, here: RunConfig) -> str | None:
    """Describe the adapters of common frameworks that have changed."""
    common = dict.fromkeys(cell.framework for cell in there.cells if cell.label in here.frameworks)
    changed = [
        framework
        for framework in common
        if any(getattr(there, name).get(framework) != getattr(here, name).get(framework) for name in CODE)
    ]
    return f"the adapter of {', '.join(changed)} or its environment" if changed else None


def _values(config: RunConfig, *, without: Sequence[str] = ()) -> dict[str, object]:
    left_out = {*without, *FOLLOWING}
    return {name: getattr(config, name) for name in type(config).model_fields if name not in left_out}
