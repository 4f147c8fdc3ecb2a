"""The changes between releases, and how they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.released import measured

from trialbed import views
from trialbed.errors import DataError
from trialbed_adapter_lab.differences import Difference
from trialbed_adapter_lab.fidelity import (
    Behaviour,
    ErrorFinding,
    Missing,
    Parallel,
    PolicyRequests,
    SchemaFinding,
    StepLimit,
    TimeLimit,
    ToolSchemas,
)
from trialbed_adapter_lab.releases import (
    KnownReleases,
    MeasuredRelease,
    PublishedRelease,
    ReleaseFolder,
    ReleasesReport,
    Wanted,
    release_between,
    report_on,
    report_tables,
)
from trialbed_adapter_lab.report_command import read_report, write_report

CLOSED = Difference(pointer="/parameters/additionalProperties", kind="added", sent=False)
NOT_JSON = ErrorFinding(case="arguments that are not JSON", seen="answer", told="Error: not JSON", requests=4, calls=0)
RAISES = ErrorFinding(
    case="arguments that are not JSON",
    seen="exception",
    exception="acme.Bad",
    text="at 0x7f3a1b2c3d",
    requests=1,
    calls=0,
)


def markdown(report: ReleasesReport) -> str:
    return views.markdown(report_tables(report))


def schemas(*names: str, changes: tuple[Difference, ...] = ()) -> ToolSchemas:
    kinds = tuple(change.kind for change in changes)
    return ToolSchemas(
        findings=tuple(
            SchemaFinding(name=name, stresses="it", effects=kinds, differences=changes, sent_name=name, call="as sent")
            for name in names
        ),
        order="kept",
        trials=1,
    )


def failed(release: str, reason: str = "uv says: no") -> MeasuredRelease:
    return measured(release).model_copy(update={"failure": reason, "figures": (), "requests": (), "packages": ()})


def kept(folder: Path, *releases: MeasuredRelease) -> ReleasesReport:
    here = ReleaseFolder(folder, "acme")
    for one in releases:
        here.keep(one, "lock")
    return report_on(here)


def test_a_change_names_its_release_with_what_the_wire_had_before_and_after(tmp_path: Path) -> None:
    report = kept(
        tmp_path,
        measured("1.0", NOT_JSON),
        measured("1.9", NOT_JSON),
        measured("1.10", RAISES, content="Hello, be brief"),
    )
    assert report.measured == ["1.0", "1.9", "1.10"]
    changes = report.changes
    assert {(change.after, change.release) for change in changes} == {("1.9", "1.10")}
    by = {(change.part, change.aspect): change for change in changes}
    seen = by["errors", "the user sees"]
    assert (seen.subjects, seen.before, seen.now) == (("arguments that are not JSON",), "answer (4)", "acme.Bad (1)")
    assert by["errors", "the model is told"].now == "(none)"
    assert by["errors", "in these words"].now == "at …", "addresses differ from trial to trial"
    evidence = by["requests", ""].evidence
    assert evidence == 'request 1, /conversation/0/content changed: "…, be brief" was added around it'


def test_the_evidence_begins_where_long_texts_differ(tmp_path: Path) -> None:
    prompt = "You are an agent. " * 20
    report = kept(tmp_path, measured("1.0", content=f"{prompt}Be long."), measured("1.1", content=f"{prompt}Be brief."))
    (change,) = report.changes
    assert change.evidence.endswith(': "…ou are an agent. Be long." → "…ou are an agent. Be brief."')


def test_a_release_like_the_one_before_has_no_change(tmp_path: Path) -> None:
    report = kept(
        tmp_path, measured("1.0", RAISES), measured("1.1", RAISES.model_copy(update={"text": "at 0x7f9999999"}))
    )
    assert report.changes == ()
    assert "acme 1.0 to 1.1: no change in 1 step between neighbours." in markdown(report)


def test_tools_that_change_alike_are_one_change_with_the_first_difference(tmp_path: Path) -> None:
    report = kept(
        tmp_path,
        measured("1.0", schemas=schemas("a", "b", "c")),
        measured("1.1", schemas=schemas("a", "b", "c", changes=(CLOSED,))),
    )
    (change,) = report.changes
    assert (change.subjects, change.before, change.now) == (("a", "b", "c"), "as given", "added 1")
    assert change.evidence == "now /parameters/additionalProperties added: false"


def test_another_difference_of_the_same_kind_is_a_change(tmp_path: Path) -> None:
    other = CLOSED.model_copy(update={"sent": True})
    report = kept(
        tmp_path,
        measured("1.0", schemas=schemas("a", changes=(CLOSED,))),
        measured("1.1", schemas=schemas("a", changes=(other,))),
    )
    (change,) = report.changes
    assert change.before == change.now == "added 1"
    assert change.evidence == "now /parameters/additionalProperties added: true"


def test_a_part_that_could_not_be_measured_is_one_change_and_not_one_of_each_fact(tmp_path: Path) -> None:
    gap = (
        measured("1.1", missing=(Missing(part="errors", reason="it fails"),))
        .figures[0]
        .model_copy(update={"errors": None})
    )
    report = kept(
        tmp_path,
        measured("1.0", NOT_JSON),
        measured("1.1").model_copy(update={"figures": (gap,)}),
        measured("1.2", NOT_JSON),
    )
    assert [(one.release, one.part, one.subjects, one.now) for one in report.changes] == [
        ("1.1", "not measured", ("errors",), "it fails"),
        ("1.2", "not measured", ("errors",), "(none)"),
    ]


def test_a_reason_that_names_the_release_is_the_same_reason_with_the_next(tmp_path: Path) -> None:
    gaps = [
        measured(
            one, missing=(Missing(part="prompt", reason=f'needs 1.3, and {one} is installed (File "/{one}/a/b.py")'),)
        )
        for one in ("1.0", "1.1", "1.2")
    ]
    assert kept(tmp_path, *gaps).changes == ()
    (change,) = kept(tmp_path, measured("1.3")).changes
    assert (change.release, change.after, change.now) == ("1.3", "1.2", "(none)")
    assert change.before == 'needs 1.3, and 1.0 is installed (File "…/b.py")'


def test_a_profile_that_cannot_be_loaded_is_one_change_and_not_one_of_each_fact(tmp_path: Path) -> None:
    gap = measured("1.1", missing=(Missing(part="", reason="no module"),))
    figures = gap.figures[0].model_copy(update={"errors": None})
    gap = gap.model_copy(update={"figures": (figures,), "requests": ()})
    report = kept(tmp_path, measured("1.0", NOT_JSON), gap, measured("1.2", NOT_JSON))
    assert [(one.release, one.part, one.subjects, one.now) for one in report.changes] == [
        ("1.1", "not measured", ("everything",), "no module"),
        ("1.2", "not measured", ("everything",), "(none)"),
    ]


def test_a_change_is_after_the_last_release_in_which_it_was_measured(tmp_path: Path) -> None:
    gap = measured("1.1", missing=(Missing(part="errors", reason="it fails"),))
    gap = gap.model_copy(update={"figures": (gap.figures[0].model_copy(update={"errors": None}),)})
    report = kept(tmp_path, measured("1.0", NOT_JSON), gap, measured("1.2", RAISES, content="other"))
    afters = {(change.part, change.after) for change in report.changes if change.release == "1.2"}
    assert afters == {("errors", "1.0"), ("requests", "1.1"), ("not measured", "1.1")}
    page = markdown(report)
    assert page.index("## 1.2, after 1.0\n") < page.index("| answer (4) | acme.Bad (1) |")
    assert "## 1.2, after 1.1\n" in page


def test_a_release_that_cannot_be_installed_is_a_row_with_the_reason(tmp_path: Path) -> None:
    report = kept(tmp_path, measured("1.0", NOT_JSON), failed("1.1"), measured("1.2", RAISES))
    assert {change.after for change in report.changes} == {"1.0"}, "neighbours are those that were measured"
    page = markdown(report)
    assert "1.1 was not measured: uv says: no" in page
    assert "| 1.1 |" in page


def test_a_failure_does_not_replace_what_was_measured(tmp_path: Path) -> None:
    folder = ReleaseFolder(tmp_path, "acme")
    for one in (measured("1.0"), failed("1.0"), measured("1.2", kit="k0")):
        folder.keep(one, "")
    assert [one.failure for one in folder] == ["", ""]
    assert "another digest of the kit" in markdown(report_on(folder))


def test_a_change_between_releases_that_are_no_neighbours_is_narrowed_down(tmp_path: Path) -> None:
    folder = ReleaseFolder(tmp_path, "acme")
    published = tuple(PublishedRelease(version=f"1.{minor}") for minor in range(10))
    folder.keep_known(KnownReleases(package="acme", allowed="", published=published))
    for one in (measured("1.0"), measured("1.9", content="other")):
        folder.keep(one, "")
    asked = []
    while release := release_between(report_on(folder)):
        asked.append(release)
        minor = int(release.partition(".")[2])
        folder.keep(failed(release) if minor == 6 else measured(release, content="other" * (minor > 6) or "Hello"), "")
    assert asked == ["1.5", "1.7", "1.6"], "halves, and none again that cannot be measured"
    (change,) = report_on(folder).changes
    assert (change.after, change.release) == ("1.5", "1.7")


def test_newer_is_from_the_newest_that_was_measured(tmp_path: Path) -> None:
    folder = ReleaseFolder(tmp_path, "acme")
    assert folder.only_newer(Wanted()) == Wanted(most=1)
    for one in (measured("1.9"), measured("1.10"), failed("2.0")):
        folder.keep(one, "")
    assert folder.only_newer(Wanted()) == Wanted(first="1.10", newer=True)
    folder.keep_watched("1.9")
    assert folder.only_newer(Wanted()) == Wanted(first="1.9", newer=True), "1.10 was not shown yet"
    (tmp_path / "acme" / "1.9.json").unlink()
    assert folder.only_newer(Wanted()) == Wanted(first="1.10", newer=True), "nothing can be compared with 1.9"


def test_a_watch_says_whether_there_is_anything_newer(tmp_path: Path) -> None:
    folder, since = ReleaseFolder(tmp_path, "acme"), Wanted(first="1.1", newer=True)
    published = [PublishedRelease(version=version) for version in ("1.0", "1.1", "1.2rc1", "2.0", "2.1")]
    folder.keep_known(KnownReleases(package="acme", allowed="<2", published=tuple(published)))
    folder.keep(measured("1.1"), "")
    page = markdown(report_on(folder, since))
    assert "Nothing changed: acme has no newer release than 1.1." in page
    assert "Not measured, newer than the adapter allows: 2.0, 2.1." in page
    folder.keep(failed("1.2"), "")
    assert "No newer release of acme than 1.1 was measured." in markdown(report_on(folder, since))
    folder.keep(measured("1.3"), "")
    assert "acme 1.1 to 1.3: no change in 1 step between neighbours." in markdown(report_on(folder, since))


def test_what_was_not_measured_is_named(tmp_path: Path) -> None:
    folder = ReleaseFolder(tmp_path, "acme")
    folder.keep(measured("1.0"), "")
    published = [PublishedRelease(version=version) for version in ("0.1", "1.0", "1.1", "1.2rc1")]
    withdrawn = PublishedRelease(version="1.3", yanked=True, yanked_reason="broken")
    folder.keep_known(KnownReleases(package="acme", allowed=">=1", published=(*published, withdrawn)))
    report = report_on(folder)
    assert (report.left, report.prereleases, report.yanked) == (("1.1",), ("1.2rc1",), ("1.3 (broken)",))
    assert "1 more releases in this range were not measured" in markdown(report)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    report = kept(tmp_path, measured("1.0", NOT_JSON), measured("1.1", RAISES))
    path = tmp_path / "acme.json"
    write_report(path, report, exclude_defaults=True)
    assert read_report(ReleasesReport, path, "bench releases") == report
    path.write_text("{}")
    with pytest.raises(DataError, match="not a report of bench releases"):
        read_report(ReleasesReport, path, "bench releases")


def test_a_record_that_is_damaged_is_named(tmp_path: Path) -> None:
    kept(tmp_path, measured("1.0"))
    (tmp_path / "acme" / "1.0.json").write_text("{")
    with pytest.raises(DataError, match=r"1\.0\.json: not what `bench releases` keeps"):
        report_on(ReleaseFolder(tmp_path, "acme"))


def behaviour(at_once: int, seconds: float) -> Behaviour:
    requests = PolicyRequests(policy="gold", requests=None, calls_sent=1, calls_made=1)
    return Behaviour(
        turns=(requests,),
        refusals=(),
        parallel=Parallel(asked=10, made=10, at_once=at_once, seconds=seconds, longest=0.5),
        settings=None,
        step_limit=StepLimit(limit=5, requests=5),
        time_limit=TimeLimit(limit=1.5, seconds=seconds, killed=False),
    )


def test_what_depends_on_the_speed_of_the_machine_is_no_change(tmp_path: Path) -> None:
    quick, slow = measured("1.0", behaviour=behaviour(10, 1.5)), measured("1.1", behaviour=behaviour(9, 4.0))
    report = kept(tmp_path, quick, slow, measured("1.2", behaviour=behaviour(1, 5.0)))
    (change,) = report.changes
    assert (change.release, change.now) == ("1.2", "10 of 10 made, one after the other")
