"""The trials of a run as columns: what lists and figures need."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import JSON, Connection, cast, func, select, type_coerce

from trialbed.records import FailureKind, IntegrityFinding, Score, TrialStatus
from trialbed.store._attempts import counted_attempts
from trialbed.store._rows import IN_ONE, decode_id, decode_record
from trialbed.store._schema import runs, scores, trials

SAMPLED = 1_000
"""Trials that are asked which scores there are, where a run has many more."""


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
        first: whether it was the first trial of its worker.
        integrity: what bears on whether its scores are the framework's and the model's.
    """

    row: int
    key: TrialPlace
    attempt: int
    status: TrialStatus
    failure: FailureKind | None
    adapter_digest: str
    wall_time: float
    first: bool = False
    integrity: tuple[IntegrityFinding, ...] = ()

    @property
    def pair(self) -> tuple[int | str, int]:
        """The query and the repeat."""
        return self.key.query_id, self.key.repeat


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
    # SQLite reads a text as JSON as it is; a cast would make a number of it.
    record = (cast if connection.dialect.name == "postgresql" else type_coerce)(trials.c.record, JSON)
    first = func.coalesce(record["outcome"]["first"].as_boolean(), False)
    chosen = select(*(trials.c[name] for name in columns), first, record["integrity"]).where(trials.c.run_id == run_id)
    query_of = lru_cache(maxsize=None)(decode_id)
    for row, framework, query, repeat, *rest, findings in connection.execute(chosen.order_by(trials.c.id)):
        found = TrialColumns(row, TrialPlace(framework, query_of(query), repeat), *rest)
        yield replace(found, integrity=tuple(map(IntegrityFinding.model_validate, findings))) if findings else found


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
