"""Follows a vendor from verification to verification."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trialbed.errors import DataError, UsageError
from trialbed_verify.history._sequential import UNIT, Assessment, DetectedChange, Night, sequential_test
from trialbed_verify.panel import OUTPUT_PRICE, Measures, everything
from trialbed_verify.vendor_rows import FileRows, VendorRows

UNTESTED = Assessment(None, None, None)


@dataclass(frozen=True)
class Point:
    """One verification of a vendor.

    Attributes:
        at: when its last row was complete, ISO 8601 in UTC.
        source: its rows.
        test_set, configuration: digests.
        success_rate, schema_accuracy: shares, as its summary has them; None if they are not known.
    """

    at: str
    model: str
    vendor: str
    source: VendorRows
    test_set: str
    configuration: str
    cases: int
    trials: int
    success_rate: float | None = None
    schema_accuracy: float | None = None


@dataclass(frozen=True)
class FollowedPoint:
    """A verification in a history.

    Attributes:
        assessment: of the sequential test; without any figures where the verification has no part in it.
        left_out: why it has none.
    """

    point: Point
    assessment: Assessment
    left_out: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        found, point = self.assessment, self.point
        return {
            "at": point.at,
            "results": str(point.source),
            "cases": point.cases,
            "trials": point.trials,
            "success_rate": point.success_rate,
            "schema_accuracy": point.schema_accuracy,
            "p": found.p,
            "evidence": found.evidence,
            "most_unusual": found.subject,
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class AnswerChange:
    """A change of a vendor's answers: between which verifications it lies, and what changed."""

    since: str
    found: str
    subjects: Sequence[str]
    evidence: float


@dataclass(frozen=True)
class VendorHistory:
    """The verifications of a vendor, by date, and the changes between them."""

    model: str
    vendor: str
    points: Sequence[FollowedPoint]
    changes: Sequence[AnswerChange]
    false_alarms_every: int
    seed: int

    @property
    def is_changed_now(self) -> bool:
        """Return whether the newest verification is the one that shows a change."""
        return bool(self.changes) and self.changes[-1].found == self.points[-1].point.at


def follow(points: Sequence[Point], false_alarms_every: int = 365, seed: int = 0) -> VendorHistory:
    """Test the points of one vendor, in order.

    Points whose results are gone, or whose requests or configuration are others than those of the newest, have no part
    in the test; the history says why.

    Args:
        points: at least one.
        false_alarms_every: verifications of an unchanged vendor from one false alarm to the next, on average at least.
        seed: of all random draws.
    """
    nights, left_out = _nights(points)
    assessments, changes = sequential_test([night for _, night in nights], false_alarms_every, seed)
    tested = {str(point.source): assessment for (point, _), assessment in zip(nights, assessments, strict=True)}
    return VendorHistory(
        points[0].model,
        points[0].vendor,
        [FollowedPoint(one, tested.get(str(one.source), UNTESTED), left_out.get(str(one.source))) for one in points],
        [_change(change, [point for point, _ in nights]) for change in changes],
        false_alarms_every,
        seed,
    )


def _nights(points: Sequence[Point]) -> tuple[list[tuple[Point, Night]], dict[str, str]]:
    """The points that are tested, with their answers, and why the others are not."""
    left_out: dict[str, str] = {}
    read: list[tuple[Point, dict[Any, list[Measures]]]] = []
    newest = points[-1] if points else None
    for point in points:
        if newest and (point.test_set, point.configuration) != (newest.test_set, newest.configuration):
            left_out[str(point.source)] = "another test set or configuration than the newest"
            continue
        try:
            read.append((point, _answers(point.source)))
        except DataError as error:
            left_out[str(point.source)] = " ".join(str(error).split())
    if not read:
        return [], left_out
    common = set(read[-1][1])
    for _, answers in read:
        common &= set(answers)
    cases = sorted(common, key=repr)
    if not cases:
        left_out |= {str(point.source): "no case in common with the others" for point, _ in read}
        return [], left_out
    return [(point, _night([answers[case] for case in cases])) for point, answers in read], left_out


def _answers(source: VendorRows) -> dict[Any, list[Measures]]:
    from trialbed_verify.comparison import read_one

    results = read_one(source)
    cases = results.cases(by_name=results.names_cases)
    return {case: [row.measured for row in trials.values()] for case, trials in cases.items()}


def _night(answers: Sequence[Sequence[Measures]]) -> Night:
    """As many trials of each case as all have."""
    trials = min(len(own) for own in answers)
    return np.array([[[*everything(trial), *_levels(trial)] for trial in own[:trials]] for own in answers], np.int64)


def _levels(trial: Measures) -> Iterator[int]:
    """Yield the subjects of ``LEVELS`` in thousandths of their logarithm, 0 where they are not known."""
    completion = (trial.cost - trial.prompt) / OUTPUT_PRICE
    for value in (math.expm1(trial.length), completion, trial.duration):
        yield round(UNIT * math.log1p(value)) if value > 0 else 0


def _change(change: DetectedChange, points: Sequence[Point]) -> AnswerChange:
    return AnswerChange(points[change.since].at, points[change.found].at, change.subjects, change.evidence)


def points_of_files(files: Sequence[Path]) -> list[Point]:
    """The points of results files that are named themselves, by date.

    Raises:
        DataError: a file is not a results file of one vendor, or has no time.
        UsageError: a file is named twice.
    """
    from trialbed_verify.comparison import read_one

    found: list[Point] = []
    for path in files:
        source = FileRows(path.resolve())
        if any(str(point.source) == str(source) for point in found):
            raise UsageError(f"{path}: named twice; each verification is one point")
        results = read_one(source)
        times = [row.measured.at for row in results.rows if row.measured.at is not None]
        if not times:
            raise DataError(f"{path}: its rows do not tell when they were complete, so it has no place in a history")
        rows = results.rows
        trials = 1 + max(row.trial for row in rows)
        cases = len(results.cases(by_name=results.names_cases))
        configuration = next((row.config for row in rows if row.config), "")
        found.append(Point(max(times), str(results.model), results.vendor, source, "", configuration, cases, trials))
    return sorted(found, key=lambda point: point.at)
