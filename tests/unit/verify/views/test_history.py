"""A vendor's history as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trialbed_verify.history import AnswerChange, Assessment, FollowedPoint, Point, VendorHistory
from trialbed_verify.vendor_rows import FileRows
from trialbed_verify.views import history_tables


def point(at: str, p: float | None = None, left_out: str | None = None) -> FollowedPoint:
    point = Point(at, "m", "acme", FileRows(Path("results.jsonl")), "", "", 60, 2, success_rate=0.975)
    tested = Assessment(None, None, None) if p is None else Assessment(p, 41.5, "tools")
    return FollowedPoint(point, tested, left_out)


def history(*points: FollowedPoint, changes: Sequence[AnswerChange] = ()) -> VendorHistory:
    return VendorHistory("m", "acme", points, changes, 365, 0)


def test_each_verification_is_a_row_and_a_change_is_dated() -> None:
    points = [point("2026-03-01T02:00:59+00:00"), point("2026-03-02T02:00:59+00:00", 0.0004)]
    change = AnswerChange(points[1].point.at, points[1].point.at, ("tools", "calls"), 400.0)
    (table,) = history_tables(history(*points, changes=[change]))
    assert table.title == "acme with m: changed since 2026-03-02 02:00"
    assert list(table.columns) == [
        "verification", "cases", "trials", "success", "schema", "p", "evidence", "most unusual",
    ]  # fmt: skip
    assert [tuple(line) for line in table.lines] == [
        ("2026-03-01 02:00", "60", "2", "0.9750", "-", "-", "-", "-"),
        ("2026-03-02 02:00", "60", "2", "0.9750", "-", "0.0004", "41.50", "tools"),
    ]
    assert table.notes[0] == (
        "Its answers changed, most likely with the verification of 2026-03-02 02:00, in tools, calls; "
        "found on 2026-03-02 02:00."
    )
    assert "one is reported at 365" in table.notes[1]


def test_points_of_one_minute_are_told_apart_and_one_that_is_left_out_says_why() -> None:
    points = [point("2026-03-01T02:00:01+00:00"), point("2026-03-01T02:00:02+00:00", left_out="cannot be read")]
    (table,) = history_tables(history(*points))
    assert table.title == "acme with m: nothing to compare yet"
    assert [line[0] for line in table.lines] == ["2026-03-01 02:00:01", "2026-03-01 02:00:02"]
    assert table.notes[-1] == "2026-03-01 02:00:02 was left out: cannot be read."
    (table,) = history_tables(history(points[0], point("2026-03-02T02:00:01+00:00", 0.6)))
    assert table.title == "acme with m: no change was found"
