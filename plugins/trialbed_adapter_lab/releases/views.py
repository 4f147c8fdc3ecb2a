"""A report on releases as tables, for a terminal, a page and a job's summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.texts import number_of, one_line
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.releases.changes import ReleaseRow, ReleasesReport

NAMED = 4
"""Subjects and packages that a cell names; it counts the others."""

LONGEST = 90
"""Characters of a value in a table of the terminal; a page has all that is kept."""


def report_tables(report: ReleasesReport, *, whole: bool = True) -> list[Table]:
    """Return the releases, and a table of changes for each that has any.

    Args:
        whole: return values whole; otherwise cut as a terminal needs them.
    """
    profiles = list(dict.fromkeys(name for row in report.releases for name in row.cpu_ms))
    columns = ["release", "published", "packages", "MiB", "kit"]
    columns += [f"{title}{name and f', {name}'}" for title in ("changes", "CPU, ms") for name in profiles]
    rows = [TableRow(row.release, _cells(report, row, profiles), bool(row.failure)) for row in report.releases]
    overview = Table("Releases", columns, rows, [_sentence(report), *_notes(report)])
    return [overview, *_changes(report, 1000 if whole else LONGEST)]


def _sentence(report: ReleasesReport) -> str:
    """Return the result in one sentence."""
    name, measured = report.framework, report.measured
    if not measured:
        return f"No release of {name} could be measured."
    if len(measured) > 1:
        changed = [one for one in measured if any(change.release == one for change in report.changes)]
        steps = f"{number_of(len(measured) - 1, 'step')} between neighbours"
        result = (
            f"{len(changed)} of {steps} changed something: {', '.join(changed)}" if changed else f"no change in {steps}"
        )
        return f"{name} {measured[0]} to {measured[-1]}: {result}."
    if measured != [report.since]:
        return f"{name} {measured[0]} is the only one here; there is nothing to compare it with."
    if len(report.releases) > 1 or report.left:
        return f"No newer release of {name} than {report.since} was measured."
    return f"Nothing changed: {name} has no newer release than {report.since}."


def _cells(report: ReleasesReport, row: ReleaseRow, profiles: Sequence[str]) -> tuple[str, ...]:
    published = f"{row.published:%Y-%m-%d}" if row.published else UNKNOWN
    if row.failure:
        return (published, UNKNOWN, UNKNOWN, "not measured", *[UNKNOWN] * 2 * len(profiles))
    changed = [change.profile for change in report.changes if change.release == row.release]
    counts = [str(changed.count(name) or "none") for name in profiles]
    cpu = [f"{row.cpu_ms[name]:.0f}" if name in row.cpu_ms else UNKNOWN for name in profiles]
    return (published, str(row.packages), f"{row.size / 2**20:,.0f}", row.kit[:8], *counts, *cpu)


def _notes(report: ReleasesReport) -> Iterator[str]:
    left = f"; {len(report.left)} more releases in this range were not measured" if report.left else ""
    yield f"The adapter allows {report.package}{report.allowed or ' in any version'}{left}."
    others = {
        "pre-releases": report.prereleases,
        "withdrawn (yanked)": report.yanked,
        "newer than the adapter allows": report.beyond,
    }
    yield from (f"Not measured, {what}: {_some(names)}." for what, names in others.items() if names)
    for row in report.releases:
        if row.failure:
            yield f"{row.release} was not measured: {one_line(row.failure, 600)}"
    if len({row.kit for row in report.releases if not row.failure}) > 1:
        yield "Releases with another digest of the kit were measured by another state of it; changes may be the kit's."
    if any(row.cpu_ms for row in report.releases):
        yield "CPU is the worker's time for a trial of four requests, the median of five; a busy machine lengthens it."


def _changes(report: ReleasesReport, longest: int) -> Iterator[Table]:
    packages = {row.release: row.others for row in report.releases}
    columns = ("what", "profile", "before", "now", "first difference")
    for release, after in dict.fromkeys((change.release, change.after) for change in report.changes):
        rows = [
            (
                f"{change.part}: {_some(change.subjects)}{change.aspect and f', {change.aspect}'}",
                change.profile or UNKNOWN,
                *(one_line(text, longest) for text in (change.before, change.now, change.evidence or UNKNOWN)),
            )
            for change in report.changes
            if (change.release, change.after) == (release, after)
        ]
        others = packages[release]
        note = f"Other packages that changed: {_some(others)}." if others else "No other package changed."
        yield Table.of(f"{release}, after {after}", columns, rows, [note])


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
