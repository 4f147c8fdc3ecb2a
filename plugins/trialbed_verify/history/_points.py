"""The dated points of vendors' histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import DataError, UsageError


@dataclass(frozen=True)
class Point:
    """One verification of a vendor.

    Attributes:
        at: when its last row was complete, ISO 8601 in UTC.
        results: the results file, absolute.
        name: how it is called where it is shown; empty for its file.
        test_set, configuration: digests.
        success_rate, schema_accuracy: shares, as its summary has them; None if they are not known.
    """

    at: str
    model: str
    vendor: str
    results: str
    test_set: str
    configuration: str
    cases: int
    trials: int
    success_rate: float | None = None
    schema_accuracy: float | None = None
    name: str = ""


def points_of_files(files: Sequence[Path]) -> list[Point]:
    """The points of results files that are named themselves, by date.

    Raises:
        DataError: a file is not a results file of one vendor, or has no time.
        UsageError: a file is named twice.
    """
    from trialbed_verify.comparison import read_one

    found: list[Point] = []
    for path in files:
        if any(point.results == str(path.resolve()) for point in found):
            raise UsageError(f"{path}: named twice; each verification is one point")
        results = read_one(path)
        times = [row.measured.at for row in results.rows if row.measured.at is not None]
        if not times:
            raise DataError(f"{path}: its rows do not tell when they were complete, so it has no place in a history")
        rows = results.rows
        trials = 1 + max(row.trial for row in rows)
        cases = len(results.cases(by_name=results.names_cases))
        configuration = next((row.config for row in rows if row.config), "")
        place = str(path.resolve())
        found.append(Point(max(times), str(results.model), results.vendor, place, "", configuration, cases, trials))
    return sorted(found, key=lambda point: point.at)
