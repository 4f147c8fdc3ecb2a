"""Parts of the report of a run that has ended, kept beside its trials, and the digest of all that they were made of.

A part is used only while its source is that of the run as it is now: whatever changes the run, its trials or their
scores, by whatever program, makes the part one of another run, which nobody reads.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, String, cast, delete, func, select

from trialbed.errors import DataError
from trialbed.records import Run
from trialbed.store._rows import check, encode, with_checksum
from trialbed.store._schema import gold_answers, reports, selections, trials

LEVEL = 1
"""zlib's fastest."""

PART = 2_000
"""Rows that are fetched at once."""

NOT_REPORTED = frozenset(
    ("status", "tags", "note", "annotations", "flights", "overall_time", "server_url", "environment", "lost")
)
"""Fields of a run that no kept figure depends on: they are always read from the run itself."""


class TrialsVersion(NamedTuple):
    """The attempts of a run: how many, and a digest of all that they are."""

    attempts: int
    digest: str


@dataclass(frozen=True)
class ReportPart:
    """A part of a report.

    Attributes:
        version: of the code that made it; another version does not read it.
        text: gives its text, which is held only while it is written.
        more: its further sources beside the run and its trials.
    """

    name: str
    version: str
    text: Callable[[], str]
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class MadeReport:
    """The parts of a report that were made of a run.

    Attributes:
        run: as it was when they were made, in the state in which it ends.
        trials: the version of its trials.
    """

    run: Run
    trials: TrialsVersion
    parts: Sequence[ReportPart]


def trials_version(connection: Connection, run_id: str) -> TrialsVersion:
    """Return the version of a run's attempts, scores and calls, by their checksums: no trial itself is read."""
    lines = select(trials.c.checksum + " " + cast(trials.c.id, String))
    lines = lines.where(trials.c.run_id == run_id).order_by(trials.c.checksum, trials.c.id)
    count, digest = 0, hashlib.sha256()
    for part in connection.execute(lines.execution_options(yield_per=PART)).scalars().partitions():
        digest.update(("\n" * (count > 0) + "\n".join(part)).encode())
        count += len(part)
    return TrialsVersion(count, digest.hexdigest())


def report_source(connection: Connection, run: Run, version: TrialsVersion, more: Sequence[str] = ()) -> str:
    """Return the digest of all that a part of a run's report is made of.

    Rows of selections and answers to expected calls are only ever added, so that their number tells them apart.
    """
    beside = [
        connection.scalar(select(func.count()).select_from(table).where(table.c.run_id == run.run_id))
        for table in (selections, gold_answers)
    ]
    is_finished = run.status == "finished"
    known = run.in_short(NOT_REPORTED)
    return hashlib.sha256(encode([is_finished, known, list(version), beside, list(more)]).encode()).hexdigest()


def keep_report(connection: Connection, run: Run, made: MadeReport) -> bool:
    """Keep the parts in place of earlier ones, if they are still those of the run; return whether they are.

    Args:
        run: as the store has it now, locked: of two that keep its report, one waits for the other.
    """
    now = trials_version(connection, run.run_id)
    further = {part.more for part in made.parts}
    sources = {more: report_source(connection, run, now, more) for more in further}
    if sources != {more: report_source(connection, made.run, made.trials, more) for more in further}:
        return False
    connection.execute(delete(reports).where(reports.c.run_id == run.run_id))
    for part in made.parts:
        connection.execute(reports.insert(), _row(run.run_id, part, sources[part.more]))
    return True


def _row(run_id: str, part: ReportPart, source: str) -> dict[str, Any]:
    body = part.text().encode("utf-8", "surrogatepass")
    about = {
        "run_id": run_id,
        "part": part.name,
        "version": part.version,
        "source": source,
        "digest": hashlib.sha256(body).hexdigest(),
    }
    return {**with_checksum(about), "body": zlib.compress(body, LEVEL)}


class PartReader:
    """Reads parts of a run's report while they are those of the run as it is now.

    Args:
        connection: of one transaction, so that the run is the same for all of them.
        version, more: as the parts have them.
    """

    def __init__(self, connection: Connection, run: Run, version: str, more: Sequence[str] = ()) -> None:
        self._connection = connection
        self._run = run
        self._version = version
        self._more = more

    def read(self, name: str) -> str | None:
        """Return the text of a part; None without one, and for one that is damaged or of another state of the run."""
        of_run = (reports.c.run_id == self._run.run_id, reports.c.part == name, reports.c.version == self._version)
        row = self._connection.execute(select(reports).where(*of_run)).one_or_none()
        if row is None or row.source != self._source:
            return None
        try:
            return check_report(row)
        except DataError:
            return None

    @cached_property
    def _source(self) -> str:
        now = trials_version(self._connection, self._run.run_id)
        return report_source(self._connection, self._run, now, self._more)


def check_report(row: Row[Any]) -> str:
    """Return the text of a part, once it is seen to be as it was written.

    Raises:
        DataError: it is not.
    """
    what = f"the stored report of run {row.run_id!r}"
    check([row], row.checksum, lambda: what)
    try:
        body = zlib.decompress(row.body)
    except zlib.error as error:
        raise DataError(f"the store is damaged: {what} cannot be read ({error})") from error
    if hashlib.sha256(body).hexdigest() != row.digest:
        raise DataError(f"the store is damaged: {what} changed after it was written")
    return body.decode("utf-8", "surrogatepass")
