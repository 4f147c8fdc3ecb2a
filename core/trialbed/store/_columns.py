"""The trials of a run in short, as lists and figures need them: one object for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, select

from trialbed.records import FailureKind, IntegrityFinding, TrialStatus
from trialbed.store._reports import trials_version
from trialbed.store._schema import runs


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


def read_version(connection: Connection, run_id: str) -> RunVersion:
    """The version of a run's trials, so that readers can keep their figures until it changes."""
    status = connection.execute(select(runs.c.status).where(runs.c.run_id == run_id)).scalar_one_or_none()
    return RunVersion(status or "", *trials_version(connection, run_id))
