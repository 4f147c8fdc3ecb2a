"""The changes between releases, and how they are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.released import finding, measured

from trialbed import views
from trialbed.errors import DataError
from trialbed.records import Json
from trialbed_adapter_lab import CheckFinding
from trialbed_adapter_lab.releases import MeasuredRelease, ReleaseFolder, ReleasesReport, report_on, report_tables
from trialbed_adapter_lab.report_command import read_report, write_report

RAISES = "at 0x7f3a1b2c3d"


def markdown(report: ReleasesReport) -> str:
    return views.markdown(report_tables(report))


def check(outcome: str, value: Json = None, name: str = "one") -> CheckFinding:
    """A finding of a check."""
    return finding(value, name, "faults", level="should", outcome=outcome, message="ValueError: a, b")


def failed(release: str) -> MeasuredRelease:
    return measured(release, failure="uv says: no", figures=(), packages=())


def kept(folder: Path, *releases: MeasuredRelease) -> ReleasesReport:
    here = ReleaseFolder(folder, "acme")
    for one in releases:
        here.keep(one, "lock")
    return report_on(here)


def values(report: ReleasesReport) -> list[tuple[Any, ...]]:
    """The changes, without their profiles and parts."""
    return [
        (one.after, one.release, one.subjects, one.before, one.now) for one in report.changes if one.part == "faults"
    ]


def test_a_change_names_its_release_with_what_the_wire_had_before_and_after(tmp_path: Path) -> None:
    report = kept(
        tmp_path,
        measured("1.0", check("passed")),
        measured("1.9", check("passed")),
        measured("1.10", check("finding", RAISES), content="Hello, be brief"),
    )
    assert report.measured == ["1.0", "1.9", "1.10"]
    changed, requests = report.changes
    assert (changed.after, changed.release, changed.profile, changed.part) == ("1.9", "1.10", "native", "faults")
    assert (changed.before, changed.now) == ("as expected", "at …"), "addresses differ from trial to trial"
    assert (requests.before, requests.now) == ("1 request, 72 bytes", "1 request, 82 bytes")
    place = "request 1, /conversation/0/content changed"
    assert requests.evidence == f'{place}: it goes on after 5 characters with ", be brief"'


@for_each(
    "before, now",
    [
        (check("finding", RAISES), check("finding", RAISES.replace("7f3a1b2c3d", "7f9999999"))),
        (check("passed", {"longest, s": 1.5, "calls at once": 10}), check("passed", {"longest, s": 4})),
        (check("finding", "ended after 1.5 s"), check("finding", "ended after 12 s")),
        (check("skipped"), check("passed")),
        (check("passed"), check("error")),
        (check("declared", "2 requests"), check("failed", "2 requests")),
        (check("outdated"), check("passed")),
    ],
)
def test_addresses_times_and_gaps_are_no_change(tmp_path: Path, before: CheckFinding, now: CheckFinding) -> None:
    report = kept(tmp_path, measured("1.0", before), measured("1.1", now))
    assert report.changes == ()
    assert "acme 1.0 to 1.1: no change in 1 step between neighbours." in markdown(report)


@for_each(
    "before, now, changes",
    [
        (check("passed", 1), check("passed", True), [("one", "1", "true")]),
        (
            check("passed", {"a": 1, "b": 2}),
            check("failed", {"a": 1, "b": 3}),
            [("one", "as expected", "not as expected"), ("one: b", "2", "3")],
        ),
        (check("passed", {"a": 1}), check("passed", {"b": 1}), [("one: a", "1", "(none)"), ("one: b", "(none)", "1")]),
        (check("passed", {"a": 1, "b": 2}), check("failed", "none"), [("one", "as expected", "none")]),
        (check("passed"), check("failed", {"bytes": 1234}), [("one", "as expected", "not as expected")]),
    ],
)
def test_each_figure_of_a_probe_is_compared(
    tmp_path: Path, before: CheckFinding, now: CheckFinding, changes: list[tuple[str, ...]]
) -> None:
    report = kept(tmp_path, measured("1.0", before), measured("1.1", now))
    assert [(*found[2], *found[3:]) for found in values(report)] == changes


def test_a_release_that_cannot_be_installed_is_a_row_with_the_reason(tmp_path: Path) -> None:
    report = kept(tmp_path, measured("1.0"), failed("1.1"), measured("1.2", content="No"))
    assert {change.after for change in report.changes} == {"1.0"}, "neighbours are those that were measured"
    page = markdown(report)
    assert "1.1 was not measured: uv says: no" in page
    assert "| 1.1 |" in page


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    report = kept(tmp_path, measured("1.0"), measured("1.1", check("passed")))
    path = tmp_path / "acme.json"
    write_report(path, report)
    assert read_report(ReleasesReport, path, "bench releases") == report
    path.write_text("{}")
    with pytest.raises(DataError, match="not a report of bench releases"):
        read_report(ReleasesReport, path, "bench releases")
