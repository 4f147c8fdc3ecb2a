"""Results: the rows of one vendor with one model, read for a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from trialbed.errors import DataError
from trialbed_verify.panel import measure
from trialbed_verify.vendor_rows import VendorRows
from trialbed_verify.verification.results import Measure, ResultRow, RowReader

Case = tuple[object, ...]
"""Identifies a case in every file: its content, and its number among repeats of that content."""

Trials = Mapping[int, ResultRow]
"""Number of the trial -> its row."""

SUFFIXES = ("_results", "-results", ".results")


@dataclass(frozen=True)
class Results:
    """The answers of one vendor with one model.

    Attributes:
        source: where they are read from.
        vendor: as named by the rows, otherwise by the file's name.
        model: as named by the rows, otherwise the model of their requests if they agree.
        rows: one per case and trial, in the order of the test set.
        notes: remarks about the rows for readers of the figures.
    """

    source: VendorRows
    vendor: str
    model: str | None
    rows: tuple[ResultRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def names_cases(self) -> bool:
        """Return whether every row names its case."""
        return all(row.case is not None for row in self.rows)

    @property
    def is_of_baseline(self) -> bool:
        """Return whether its summary marks it as the baseline of its model."""
        return self.source.is_baseline(self.rows[0].config)

    def cases(self, *, by_name: bool) -> dict[Case, dict[int, ResultRow]]:
        """Case -> its trials.

        Args:
            by_name: identify cases by the rows' own names; otherwise by content, with repeats in order of the test set.
        """
        found: dict[Case, dict[int, ResultRow]] = {}
        seen: dict[tuple[Case, int], int] = {}
        for row in self.rows:
            if by_name:
                found.setdefault((row.case, 0), {})[row.trial] = row
                continue
            asked: Case = row.requested.content
            number = seen.get((asked, row.trial), 0)
            seen[asked, row.trial] = number + 1
            found.setdefault((asked, number), {})[row.trial] = row
        return found


def read_results(source: VendorRows, measured: Measure | None = measure) -> list[Results]:
    """Read results: one per vendor, model and configuration, in the order of their first rows.

    Args:
        measured: gives each row the figures that comparisons need, which takes most of the time; None for none.

    Raises:
        DataError: the rows cannot be read, or are no results.
    """
    reader = RowReader(source, measured)
    groups: dict[tuple[object, ...], _Group] = {}
    for row in reader:
        groups.setdefault((row.vendor, row.model, row.config), _Group()).add(row)
    if not groups:
        raise DataError(f"{source}: contains no result rows")
    notes = () if reader.torn is None else (f"{source}: line {reader.torn} is cut off and was skipped",)
    return [_results(source, group.rows, (*notes, *group.notes(source))) for group in groups.values()]


class _Group:
    """The rows of one vendor, model and configuration, each as a trial.

    A row takes the place of an earlier one of its case and trial, which failed and was asked again. But a file in which
    any case is asked again after a success holds several runs, one after the other: there every row is a trial.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], list[ResultRow]] = {}
        self._repeated = False

    @property
    def rows(self) -> Iterator[ResultRow]:
        """Yield all rows that count."""
        if not self._repeated:
            yield from (rows[-1] for rows in self._rows.values())
            return
        taken: dict[tuple[object, ...], set[int]] = {}
        for row in (row for rows in self._rows.values() for row in rows):
            numbers = taken.setdefault(row.key[:-1] or row.key, set())
            number = row.trial if row.trial not in numbers else 1 + max(numbers)
            numbers.add(number)
            yield replace(row, trial=number)

    def add(self, row: ResultRow) -> None:
        """Add a row."""
        found = self._rows.setdefault(row.key, [])
        self._repeated = self._repeated or any(one.success for one in found)
        found.append(row)

    def notes(self, source: VendorRows) -> Iterator[str]:
        """Yield a note if there are rows that count as trials although the file does not number them so."""
        if self._repeated:
            further = sum(len(rows) - 1 for rows in self._rows.values())
            yield f"{source}: {further:,} rows repeat a case that was answered before, and count as further trials"


def read_one(source: VendorRows, measured: Measure | None = measure) -> Results:
    """Read the results of one vendor, model and configuration.

    Args:
        measured: as for ``read_results``.

    Raises:
        DataError: as for ``read_results``, or they are of several configurations.
    """
    first, *others = read_results(source, measured)
    if others:
        names = ", ".join(sorted({f"{found.vendor} / {found.model}" for found in (first, *others)}))
        raise DataError(
            f"{source}: contains rows of {len(others) + 1} configurations ({names}); a comparison needs one per file: "
            "give each its own --output in bench verify"
        )
    return first


def as_trials(files: Sequence[Results], vendor: str | None = None) -> Results:
    """Combine several files of one vendor as its trials, numbered on from file to file.

    Args:
        vendor: its name, if not that of the first file.

    Raises:
        DataError: the files are of different models.
    """
    first, *others = files
    offset, rows = 0, list[ResultRow]()
    for file in files:
        if file.model != first.model:
            raise DataError(
                f"{first.source} has results of {first.model}, {file.source} of {file.model}; all files of one side "
                "must be of one model"
            )
        rows += (replace(row, trial=row.trial + offset) for row in file.rows)
        offset += 1 + max(row.trial for row in file.rows)
    if vendor is not None:
        first = replace(first, vendor=vendor)
    if not others:
        return first
    names = ", ".join(str(file.source) for file in files)
    notes = (
        f"{len(files)} files were taken as trials of {first.vendor}: {names}",
        *(note for file in files for note in file.notes),
    )
    return replace(first, rows=tuple(sorted(rows, key=_place)), notes=notes)


def file_label(file_name: str) -> str:
    """The vendor's name, from the name of a file whose rows do not have it."""
    stem = PurePath(file_name).stem
    for suffix in SUFFIXES:
        stem = stem.removesuffix(suffix)
    return stem or file_name


def _results(source: VendorRows, rows: Iterable[ResultRow], notes: tuple[str, ...]) -> Results:
    ordered = tuple(sorted(rows, key=_place))
    asked = {row.asked_model for row in ordered}
    model = ordered[0].model or (next(iter(asked)) if len(asked) == 1 else None)
    return Results(source, ordered[0].vendor or file_label(source.file_name), model, ordered, notes)


def _place(row: ResultRow) -> tuple[int, int, int]:
    return row.line if row.data_index is None else row.data_index, row.trial, row.line
