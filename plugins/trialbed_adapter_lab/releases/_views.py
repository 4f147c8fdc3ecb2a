"""A report on releases as tables, for a terminal, a page and a job's summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.texts import one_line
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.releases._report import ReleaseChange, ReleaseRow, ReleasesReport

MEBIBYTE = 2**20
NAMED = 4
"""Subjects and packages that a cell names; it counts the others."""

LONGEST = 90
"""Characters of a value in a table of the terminal; a page has all that is kept."""


def report_tables(report: ReleasesReport, *, whole: bool = True) -> list[Table]:
    """Return the releases, and a table of changes for each that has any.

    Args:
        whole: return values whole; otherwise cut as a terminal needs them.
    """
    return [_overview(report), *_tables(report, 1000 if whole else LONGEST)]


def _sentence(report: ReleasesReport) -> str:
    """Return the result in one sentence."""
    measured = report.measured
    if len(measured) < 2:
        return _without_neighbours(report)
    changed = [release for release in measured if any(change.release == release for change in report.changes)]
    first, last, count = measured[0], measured[-1], len(measured) - 1
    if not changed:
        return f"{report.framework} {first} to {last}: no change in {count} {_steps(count)} between neighbours."
    return (
        f"{report.framework} {first} to {last}: {len(changed)} of {count} {_steps(count)} between neighbours "
        f"changed something: {', '.join(changed)}."
    )


def _without_neighbours(report: ReleasesReport) -> str:
    framework, measured = report.framework, report.measured
    if not measured:
        return f"No release of {framework} could be measured."
    if measured != [report.since]:
        return f"{framework} {measured[0]} is the only one here; there is nothing to compare it with."
    if len(report.releases) > 1 or report.left:
        return f"No newer release of {framework} than {report.since} was measured."
    return f"Nothing changed: {framework} has no newer release than {report.since}."


def _steps(count: int) -> str:
    return "step" if count == 1 else "steps"


def _overview(report: ReleasesReport) -> Table:
    profiles = list(dict.fromkeys(name for row in report.releases for name in row.cpu_ms))
    columns = ["release", "published", "packages", "MiB", "kit"]
    columns += [f"changes{_of(name)}" for name in profiles] + [f"CPU, ms{_of(name)}" for name in profiles]
    rows = [
        TableRow(row.release, tuple(_cells(row, profiles, report.changes)), bool(row.failure))
        for row in report.releases
    ]
    return Table("Releases", columns, rows, [_sentence(report), *_notes(report)])


def _of(profile: str) -> str:
    return f", {profile}" if profile else ""


def _cells(row: ReleaseRow, profiles: Sequence[str], changes: Sequence[ReleaseChange]) -> Iterator[str]:
    yield f"{row.published:%Y-%m-%d}" if row.published else UNKNOWN
    if row.failure:
        yield from [UNKNOWN] * (2 + 2 * len(profiles))
        yield "not measured"
        return
    yield from (str(row.packages), f"{row.size / MEBIBYTE:,.0f}", row.kit[:8])
    for name in profiles:
        yield str(sum(change.release == row.release and change.profile == name for change in changes) or "none")
    yield from (f"{row.cpu_ms[name]:.0f}" if name in row.cpu_ms else UNKNOWN for name in profiles)


def _notes(report: ReleasesReport) -> Iterator[str]:
    allowed = f"The adapter allows {report.package}{report.allowed or ' in any version'}"
    yield (
        f"{allowed}; {len(report.left)} more releases in this range were not measured."
        if report.left
        else f"{allowed}."
    )
    others = {
        "pre-releases": report.prereleases,
        "withdrawn (yanked)": report.yanked,
        "newer than the adapter allows": report.beyond,
    }
    for what, names in others.items():
        if names:
            yield f"Not measured, {what}: {_some(names)}."
    for row in report.releases:
        if row.failure:
            yield f"{row.release} was not measured: {one_line(row.failure, 600)}"
    if len({row.kit for row in report.releases if not row.failure}) > 1:
        yield "Releases with another digest of the kit were measured by another state of it; changes may be the kit's."
    yield (
        "CPU is processor time of the worker for a trial of four requests, the median of five; the machine may have "
        "been busy, which lengthens it too."
    )


def _tables(report: ReleasesReport, longest: int) -> Iterator[Table]:
    rows = {row.release: row for row in report.releases}
    for release, after in dict.fromkeys((change.release, change.after) for change in report.changes):
        found = [change for change in report.changes if (change.release, change.after) == (release, after)]
        others = rows[release].others
        note = f"Other packages that changed: {_some(others)}." if others else "No other package changed."
        yield Table.of(
            f"{release}, after {after}",
            ("what", "profile", "before", "now", "first difference"),
            [_row(change, longest) for change in found],
            [note],
        )


def _row(change: ReleaseChange, longest: int) -> tuple[str, ...]:
    what = f"{change.part}: {_some(change.subjects)}{f', {change.aspect}' if change.aspect else ''}"
    cells = (change.before, change.now, change.evidence or UNKNOWN)
    return (what, change.profile or UNKNOWN, *(one_line(cell, longest) for cell in cells))


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
