"""Finds the trial of a run that a command names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trialbed.errors import DataError, UsageError

if TYPE_CHECKING:
    from trialbed.records import RunConfig, TrialResult
    from trialbed.store import StoredRun

QueryId = int | str


def named_attempt(run: StoredRun, trial: str, *, attempt: int | None = None) -> TrialResult:
    """Return the requested attempt of a trial, by default the attempt that counts.

    Args:
        trial: ``FRAMEWORK/TASK`` or ``FRAMEWORK/TASK/REPEAT``; if the run has one framework, it may be omitted.

    Raises:
        UsageError: it names something that the run does not have.
        DataError: the trial has not ended yet.
    """
    label, query_id, number = _parse(run, trial)
    if number >= run.config.repeat:
        raise UsageError(
            f"run {run.run_id} has no repeat {number}: they are counted from 0, and it has {run.config.repeat}"
        )
    counted = run.trial(label, query_id, number)
    if attempt is None or attempt == counted.attempt:
        return counted
    found = {one.attempt: one for one in run.attempts(framework=label, query_id=query_id, repeat=number)}
    if attempt not in found:
        raise DataError(f"the trial has no attempt {attempt}; it has {', '.join(map(str, sorted(found)))}")
    return found[attempt]


def query_meant(config: RunConfig, text: str) -> QueryId | None:
    """Return the query with this id. Numbers come before texts; in quotes, only the text is meant."""
    numbers: list[QueryId] = [known for known in config.query_ids if not isinstance(known, str) and str(known) == text]
    texts = [known for known in config.query_ids if isinstance(known, str) and text in (known, json.dumps(known))]
    return next(iter([*numbers, *texts]), None)


def _parse(run: StoredRun, trial: str) -> tuple[str, QueryId, int]:
    """Return framework, query and repeat, which is 0 by default.

    Names of frameworks and queries may have slashes, so every reading is tried.
    """
    for label, rest in _split(run, trial):
        before, _, last = rest.rpartition("/")
        for text, repeat in ((rest, 0), (before, int(last) if last.isdecimal() else None)):
            query_id = query_meant(run.config, text)
            if query_id is not None and repeat is not None:
                return label, query_id, repeat
    first, _, rest = trial.partition("/")
    if rest:
        run.framework(first)  # says which frameworks there are, if it is none of them
        raise UsageError(_no_query(run, rest))
    example = f"{run.config.frameworks[0]}/{run.config.query_ids[0]}"
    raise UsageError(f"{trial!r} names no trial of run {run.run_id}: write FRAMEWORK/TASK, such as {example}")


def _split(run: StoredRun, trial: str) -> Iterator[tuple[str, str]]:
    """Yield a framework of the run, and what follows it in the name of a trial."""
    for place, character in enumerate(trial):
        if character == "/":
            try:
                yield run.framework(trial[:place]), trial[place + 1 :]
            except UsageError:
                continue
    if len(run.config.frameworks) == 1:
        yield run.config.frameworks[0], trial


def _no_query(run: StoredRun, text: str) -> str:
    from trialbed.views import printable

    ids = [printable(str(query_id)) for query_id in run.config.query_ids]
    shown = f"{', '.join(ids[:10])}{' …' if len(ids) > 10 else ''}"
    return f"run {run.run_id} has no task {text}; its tasks are {shown}"
