"""The trials of a run as columns: what lists and figures need."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import JSON, Connection, cast, func, select, type_coerce

from trialbed.records import FailureKind, IntegrityFinding, Score, TrialStatus
from trialbed.store._attempts import counted_attempts
from trialbed.store._reports import trials_version
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
            those that a sample has, unless all scores were read.
        tools: row of the trial -> the names of the tools on offer; empty unless all scores were read.
    """

    trials: tuple[TrialColumns, ...]
    values: Mapping[str, Mapping[int, float]]
    kinds: Mapping[str, ScoreKind]
    tools: Mapping[int, frozenset[str]] = field(default_factory=dict)


def read_version(connection: Connection, run_id: str) -> RunVersion:
    """The version of a run's trials, so that readers can keep their figures until it changes."""
    status = connection.execute(select(runs.c.status).where(runs.c.run_id == run_id)).scalar_one_or_none()
    return RunVersion(status or "", *trials_version(connection, run_id))


def read_columns(connection: Connection, run_id: str, names: Collection[str]) -> RunColumns:
    """The columns of a run's trials.

    Args:
        names: the scores whose values are read.
    """
    counted = tuple(counted_attempts(_trials(connection, run_id)))
    rows = {trial.row for trial in counted}
    kinds = _kinds(connection, _sample([trial.row for trial in counted]))
    return RunColumns(counted, _values(connection, run_id, names, rows), kinds)


def read_all_columns(connection: Connection, run_id: str) -> RunColumns:
    """The columns of a run's trials with the values of all scores, and the names of the tools on offer.

    A score is bounded, and of quality, if it is in any trial.
    """
    counted = tuple(counted_attempts(_trials(connection, run_id)))
    rows = {trial.row for trial in counted}
    return RunColumns(
        counted,
        _values(connection, run_id, None, rows),
        _all_kinds(connection, run_id, rows),
        _tools(connection, run_id, rows),
    )


def _json(connection: Connection, column: Any) -> Any:
    """The column's text as JSON; SQLite reads it as it is, where a cast would make a number of it."""
    return (cast if connection.dialect.name == "postgresql" else type_coerce)(column, JSON)


def _trials(connection: Connection, run_id: str) -> Iterable[TrialColumns]:
    columns = ("id", "framework", "query_id", "repeat", "attempt", "status", "failure", "adapter_digest", "wall_time")
    record = _json(connection, trials.c.record)
    first = func.coalesce(record["outcome"]["first"].as_boolean(), False)
    chosen = select(*(trials.c[name] for name in columns), first, record["integrity"]).where(trials.c.run_id == run_id)
    query_of = lru_cache(maxsize=None)(decode_id)
    for row, framework, query, repeat, *rest, findings in connection.execute(chosen.order_by(trials.c.id)):
        found = TrialColumns(row, TrialPlace(framework, query_of(query), repeat), *rest)
        yield replace(found, integrity=tuple(map(IntegrityFinding.model_validate, findings))) if findings else found


def _values(
    connection: Connection, run_id: str, names: Collection[str] | None, rows: Collection[int]
) -> dict[str, dict[int, float]]:
    of_run = select(trials.c.id).where(trials.c.run_id == run_id)
    chosen = select(scores.c.trial_id, scores.c.name, scores.c.value).where(
        scores.c.trial_id.in_(of_run), scores.c.value.is_not(None)
    )
    if names is not None:
        chosen = chosen.where(scores.c.name.in_(names))
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


END_OF_SCORE = re.compile(r'"bounded":(true|false),"quality":(true|false),"failure":null}\Z')
"""What the record of a score with a value ends with, so that not all of it need be read."""


def _all_kinds(connection: Connection, run_id: str, rows: Collection[int]) -> dict[str, ScoreKind]:
    of_run = scores.c.trial_id.in_(select(trials.c.id).where(trials.c.run_id == run_id))
    chosen = select(scores.c.trial_id, scores.c.name, scores.c.record).where(of_run)
    found: dict[str, ScoreKind] = {}
    for row, name, record in connection.execute(chosen.order_by(scores.c.trial_id, scores.c.position)):
        if row in rows:
            known, own = found.get(name, ScoreKind(False, False)), _kind_of_record(record)
            found[name] = ScoreKind(known.bounded or own.bounded, known.quality or own.quality)
    return found


def _kind_of_record(record: str) -> ScoreKind:
    end = END_OF_SCORE.search(record, max(0, len(record) - 60))
    if end is None:
        return _kind(decode_record(Score, record))
    bounded = end[1] == "true"
    return ScoreKind(bounded, bounded and end[2] == "true")


def _tools(connection: Connection, run_id: str, rows: Collection[int]) -> dict[int, frozenset[str]]:
    offered = _json(connection, trials.c.record)["selected_tools"].as_string()
    read = lru_cache(maxsize=None)(lambda text: frozenset(json.loads(text)))
    chosen = select(trials.c.id, offered).where(trials.c.run_id == run_id)
    return {row: read(text) for row, text in connection.execute(chosen) if row in rows}


def _kind(score: Score) -> ScoreKind:
    return ScoreKind(score.bounded, score.bounded and score.quality)
