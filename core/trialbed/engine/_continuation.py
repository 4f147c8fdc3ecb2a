"""Decides which stored run a command continues, and what is left of it to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from trialbed.engine._identity import config_digest
from trialbed.engine._plan import Prepared, RunOptions, trial_keys
from trialbed.errors import UsageError
from trialbed.records import Run, RunConfig, TrialKey
from trialbed.store import AttemptSummary, Store, counted_attempts

LAST = "last"
"""Stands for the latest run that fits, instead of a run's id."""

LATEST = 50
"""Number of runs among which one is looked for that a remark is about."""

CODE = ("adapter_versions", "adapter_digests")
GROWING = ("frameworks", "commands", "query_ids", "repeat")
"""Fields that tell the adapters' code, and those that may grow in a run that is extended."""


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
        return _extended(store, config, options.extend)
    return store.unfinished_run(config_digest(config))


def remarks(store: Store, prepared: Prepared) -> Iterator[str]:
    """What a user should know before a new run is started although another could be meant."""
    if prepared.options.fresh:
        return
    config = prepared.config
    for run in store.runs(limit=LATEST):
        changed = _changed_since(run.config, config)
        if changed and run.status != "finished":
            yield f"{changed} changed since run {run.run_id} began: a new run is started"
            return
        if run.config != config and why_not_extended(run.config, config) is None:
            kept, total = len(store.finished_keys(run.run_id)), len(trial_keys(config))
            yield f"run {run.run_id} has {kept} of these {total} trials; with --extend it is continued instead"
            return


def trials_to_run(
    config: RunConfig, attempts: Iterable[AttemptSummary], options: RunOptions
) -> list[tuple[TrialKey, int]]:
    """The trials that are due, in the order in which they run, each with the number of its next attempt.

    Those are due that were never measured. With ``retry_failed`` also those that failed, unless one was answered by
    today's code of its adapter: a further answer would change nothing.
    """
    of_trial: dict[TrialKey, list[AttemptSummary]] = defaultdict(list)
    for attempt in attempts:
        of_trial[attempt.key].append(attempt)
    return [
        (key, max((attempt.attempt for attempt in of_trial[key]), default=-1) + 1)
        for key in trial_keys(config)
        if _is_due(of_trial[key], options, config.adapter_digests.get(key.framework, ""))
    ]


def _is_due(own: Sequence[AttemptSummary], options: RunOptions, adapter_digest: str) -> bool:
    if all(attempt.status == "not measured" for attempt in own):
        return True
    if not options.retry_failed:
        return False
    answered = any(attempt.status == "answered" and attempt.adapter_digest == adapter_digest for attempt in own)
    return counted_attempts(own)[0].status == "failed" and not answered


def why_not_extended(there: RunConfig, here: RunConfig) -> str | None:
    """Why a run of one configuration does not become one of another by more trials; None if it does."""
    for name, value in _values(there, without=(*CODE, *GROWING)).items():
        if value != getattr(here, name):
            return f"its {_words(name)} is {value!r}, not {getattr(here, name)!r}"
    fewer = [framework for framework in there.frameworks if framework not in here.frameworks]
    if fewer:
        return f"it has the framework {', '.join(fewer)} too; name it as well"
    missing = len(set(there.query_ids) - set(here.query_ids))
    if missing:
        return f"it has {missing} queries that are not chosen here"
    if there.repeat > here.repeat:
        return f"its repeats are {there.repeat}, not {here.repeat}"
    changed = _changed_adapters(there, here)
    return f"{changed} changed since it began" if changed else None


def _latest_of(store: Store, config: RunConfig) -> Run:
    for run in store.runs(limit=None):
        if _values(run.config, without=CODE) == _values(config, without=CODE):
            return run
    raise UsageError("--retry-failed: the store has no run of this configuration; leave the option out to start one")


def _extended(store: Store, config: RunConfig, wanted: str) -> Run:
    runs = store.runs(limit=None) if wanted == LAST else [store.run(wanted)]
    reasons = {run.run_id: why_not_extended(run.config, config) for run in runs}
    for run in runs:
        if reasons[run.run_id] is None:
            return run
    if not runs:
        raise UsageError("--extend: the store has no run yet; leave the option out to start one")
    first = runs[0].run_id
    which = f"the latest run, {first}," if wanted == LAST else f"run {first}"
    raise UsageError(f"--extend: {which} cannot become what this command asks for: {reasons[first]}")


def _changed_since(there: RunConfig, here: RunConfig) -> str | None:
    """What keeps a run of the same settings from being continued: adapters, or Trialbed."""
    if _values(there, without=(*CODE, "trialbed_version")) != _values(here, without=(*CODE, "trialbed_version")):
        return None
    if there.trialbed_version != here.trialbed_version:
        return "Trialbed"
    return _changed_adapters(there, here)


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
    return {name: getattr(config, name) for name in type(config).model_fields if name not in without}


def _words(name: str) -> str:
    return name.replace("_", " ")
