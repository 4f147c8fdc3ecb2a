"""The dated points of vendors' histories, in a file of one line each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, UsageError

FILE = "verifications.jsonl"


@dataclass(frozen=True)
class Point:
    """One verification of a vendor.

    Attributes:
        at: when its last row was complete, ISO 8601 in UTC.
        results: the results file, absolute.
        test_set, configuration: digests.
        success_rate, schema_accuracy: shares, as its summary tells them; None if they are not known.
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


def history_file(folder: Path) -> Path:
    """The file of histories in a state folder."""
    return folder / FILE


def record(file: Path, summaries: Iterable[Mapping[str, Any]], results: Iterable[Path]) -> None:
    """Add a point for each summary of a verification.

    Raises:
        UsageError: the file cannot be written.
    """
    lines = [
        json.dumps(asdict(_point(summary, path)), ensure_ascii=False)
        for summary, path in zip(summaries, results, strict=True)
        if summary["last_row_at"]
    ]
    if not lines:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            # One write, so that verifications that end at the same time do not mix their lines.
            os.write(descriptor, ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}; the results themselves are complete") from error


def points(file: Path, model: str, vendor: str) -> list[Point]:
    """The points of a vendor, by date; of several of one results file the last.

    Raises:
        DataError: the file is damaged.
    """
    found = {point.results: point for point in _read(file) if (point.model, point.vendor) == (model, vendor)}
    return sorted(found.values(), key=lambda point: point.at)


def points_of_files(files: Sequence[Path]) -> list[Point]:
    """The points of results files that are named themselves, by date.

    Raises:
        DataError: a file is not a results file of one vendor, or does not tell its time.
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


def known_vendors(file: Path) -> list[tuple[str, str]]:
    """The models and vendors that have a history."""
    return sorted({(point.model, point.vendor) for point in _read(file)})


def _point(summary: Mapping[str, Any], results: Path) -> Point:
    about = summary["provenance"]
    rates = {name: summary[name] for name in ("success_rate", "schema_accuracy_per_response")}
    success, schema = (rate["value"] if rate else None for rate in rates.values())
    return Point(
        at=summary["last_row_at"],
        model=summary["model"],
        vendor=summary["vendor"],
        results=str(results.resolve()),
        test_set=about["test_set_digest"],
        configuration=about["configuration_digest"],
        cases=about["test_set_cases"],
        trials=about["trials"],
        success_rate=success,
        schema_accuracy=schema,
    )


def _read(file: Path) -> Iterator[Point]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield Point(**json.loads(line))
        except (ValueError, TypeError) as error:
            if number == len(lines):
                return  # A killed process left it.
            raise DataError(f"{file}, line {number}: not a point of a history ({error}); remove the line") from error
