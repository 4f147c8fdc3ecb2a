"""The trials of a run as columns: what lists, figures and data frames need."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from trialbed.errors import UsageError
from trialbed.records import FailureKind, RunConfig, Score, TrialResult, TrialStatus
from trialbed.scoring import quality_scores
from trialbed.store._attempts import counted_attempts
from trialbed.store._rows import decode_id, decode_record
from trialbed.store._schema import runs, scores, trials

SAMPLED = 1_000
"""Trials that are asked which scores there are, where a run has many more."""

IN_ONE = 500
"""Rows that one query names."""


class TrialPlace(NamedTuple):
    """The fields that identify a trial within its run."""

    framework: str
    query_id: int | str
    repeat: int


@dataclass(frozen=True, slots=True)
class TrialColumns:
    """A trial as its columns give it; they are not checked against their checksum, as reading the trial itself does.

    Attributes:
        row: identifies the attempt in its store.
        wall_time: seconds.
    """

    row: int
    key: TrialPlace
    attempt: int
    status: TrialStatus
    failure: FailureKind | None
    adapter_digest: str
    wall_time: float


class ScoreKind(NamedTuple):
    """The kind of a score: whether it lies in [0, 1], and whether a failed trial has it as 0."""

    bounded: bool
    quality: bool


class RunVersion(NamedTuple):
    """Another one whenever the run's status, its trials or their scores are others than before."""

    status: str
    attempts: int
    digest: str


@dataclass(frozen=True)
class RunColumns:
    """The trials of a run that count, and the values of some of their scores.

    Attributes:
        trials: in the order in which they ended.
        values: score -> row of the trial -> value; trials without a value are left out.
        kinds: the scores that trials of the run have, those that were not read too; of a run of thousands of trials,
            those that a sample has.
    """

    trials: tuple[TrialColumns, ...]
    values: Mapping[str, Mapping[int, float]]
    kinds: Mapping[str, ScoreKind]


def read_version(connection: Connection, run_id: str) -> RunVersion:
    """The version of a run's trials, so that readers can keep their figures until it changes."""
    status = connection.execute(select(runs.c.status).where(runs.c.run_id == run_id)).scalar_one_or_none()
    digest = hashlib.sha256()
    attempts = 0
    for row, scored in connection.execute(
        select(trials.c.id, trials.c.scores_checksum).where(trials.c.run_id == run_id).order_by(trials.c.id)
    ):
        digest.update(f"{row} {scored}\n".encode())
        attempts += 1
    return RunVersion(status or "", attempts, digest.hexdigest())


def read_columns(connection: Connection, run_id: str, names: Collection[str]) -> RunColumns:
    """The columns of a run's trials.

    Args:
        names: the scores whose values are read.
    """
    counted = tuple(counted_attempts(_trials(connection, run_id)))
    rows = {trial.row for trial in counted}
    kinds = _kinds(connection, _sample([trial.row for trial in counted]))
    return RunColumns(counted, _values(connection, run_id, names, rows), kinds)


def _trials(connection: Connection, run_id: str) -> Iterable[TrialColumns]:
    columns = ("id", "framework", "query_id", "repeat", "attempt", "status", "failure", "adapter_digest", "wall_time")
    chosen = select(*(trials.c[name] for name in columns)).where(trials.c.run_id == run_id).order_by(trials.c.id)
    query_of = lru_cache(maxsize=None)(decode_id)
    for row, framework, query, repeat, *rest in connection.execute(chosen):
        yield TrialColumns(row, TrialPlace(framework, query_of(query), repeat), *rest)


def _values(
    connection: Connection, run_id: str, names: Collection[str], rows: Collection[int]
) -> dict[str, dict[int, float]]:
    of_run = select(trials.c.id).where(trials.c.run_id == run_id)
    chosen = select(scores.c.trial_id, scores.c.name, scores.c.value).where(
        scores.c.trial_id.in_(of_run), scores.c.name.in_(names), scores.c.value.is_not(None)
    )
    found: dict[str, dict[int, float]] = {}
    for row, name, value in connection.execute(chosen):
        if row in rows:
            found.setdefault(name, {})[row] = value
    return found


def _sample(rows: Sequence[int]) -> Sequence[int]:
    """The rows of all trials, or of some that are spread over a run of very many."""
    step = max(1, len(rows) // SAMPLED)
    return rows[::step]


def _kinds(connection: Connection, rows: Sequence[int]) -> dict[str, ScoreKind]:
    """Each score with its kind, as the first of these trials that has it says."""
    found: dict[str, ScoreKind] = {}
    for begin in range(0, len(rows), IN_ONE):
        chosen = select(scores.c.name, scores.c.record).where(scores.c.trial_id.in_(rows[begin : begin + IN_ONE]))
        for name, record in connection.execute(chosen.order_by(scores.c.trial_id, scores.c.position)):
            if name not in found:
                found[name] = _kind(decode_record(Score, record))
    return found


def _kind(score: Score) -> ScoreKind:
    return ScoreKind(score.bounded, score.bounded and score.quality)


KEYS = (
    "run_id",
    "model",
    "test_set",
    "framework",
    "query_id",
    "repeat",
    "attempt",
    "status",
    "failure",
    "answer_status",
)
"""The columns that do not hold scores."""


def trial_frame(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each trial, and a column for each score beside those of ``KEYS``.

    Args:
        results: the trials that count.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"a DataFrame needs pandas, which is not installed ({error}); install it with: "
            "pip install 'trialbed[dataframe]'"
        ) from error
    rows = trial_rows(run_id, config, results)
    scores = dict.fromkeys(name for row in rows for name in row if name not in KEYS)
    return pandas.DataFrame(rows, columns=[*KEYS, *scores])


def trial_rows(run_id: str, config: RunConfig, results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """The rows: a failed trial is 0 in scores of quality, as in all means; a score without a value is None."""
    quality = quality_scores(results)
    return [_row(run_id, config, result, quality) for result in results]


def _row(run_id: str, config: RunConfig, result: TrialResult, quality: Sequence[str]) -> dict[str, Any]:
    failure, sopr = result.outcome.failure, result.score("sopr_score")
    keys = {
        "run_id": run_id,
        "model": config.model,
        "test_set": config.test_set,
        "framework": result.key.framework,
        "query_id": result.key.query_id,
        "repeat": result.key.repeat,
        "attempt": result.attempt,
        "status": result.status,
        "failure": failure.kind if failure else None,
        "answer_status": sopr.label if sopr and result.status == "answered" else None,
    }
    if result.status == "failed":
        return {**keys, **dict.fromkeys(quality, 0.0)}
    if result.status == "not measured":
        return keys
    return {**keys, **{score.name: score.value for score in result.scores if score.name not in KEYS}}
