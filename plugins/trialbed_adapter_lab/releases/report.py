"""The report on releases: the changes from each to the next, and the tables of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from packaging.specifiers import SpecifierSet
from pydantic import ConfigDict

from trialbed.environments import FrameworkSpec
from trialbed.records import Json, Record
from trialbed.texts import first_of, group_by_key, number_of, number_were, one_line
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.differences import Difference, differences, show, tell_texts_apart, without_varying_parts
from trialbed_adapter_lab.probe import CheckFinding
from trialbed_adapter_lab.releases.index import KnownReleases
from trialbed_adapter_lab.releases.measure import MeasuredRelease, ReleaseConditions, ReleaseFolder

LONGEST = 200
"""Characters of a text that a change shows; it is compared as a whole."""

LONGEST_CELL, LONGEST_REASON = 90, 600
"""Characters of a value in a table of the terminal, and of the reason why something was not measured."""

NAMED = 4
"""Subjects and packages that a cell names; it counts the others."""

ABSENT = "(none)"
"""Stands for a figure that a release does not have."""

_TIMED = re.compile(r", s$|^calls at once$")
"""Names of figures that depend on the speed of the machine."""

_SECONDS = re.compile(r"\b[\d.]{1,20}(?= s\b)")


class ReleaseRow(ReleaseConditions):
    """A release in a report.

    Attributes:
        packages: the number of packages in its environment.
        others: packages beside the framework's own that have another version than with the release before it, as
            ``name OLD → NEW``.
        missing: profiles and probes that were not measured, with the reasons.
    """

    # Reports of earlier kits have processor times, too.
    model_config = ConfigDict(extra="ignore")

    adapter: str = ""
    packages: int = 0
    others: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class ReleaseChange(Record):
    """One change from a release to the next; if several subjects change alike, they are one.

    Attributes:
        release: the first in which it is seen. ``after``: the one before it in which this was measured.
        part: the theme of the probes.
        subjects: the probes, with the figure if they have several. ``aspect``: the figure in reports of earlier kits.
        before, now: the two values.
        evidence: the first thing on the wire that differs, if the values do not say it; of the first subject.
    """

    release: str
    after: str
    profile: str
    part: str
    subjects: tuple[str, ...]
    aspect: str = ""
    before: str
    now: str
    evidence: str = ""


class ReleasesReport(Record):
    """A framework over its releases.

    Attributes:
        package: its name on the index; empty if that was not asked. ``allowed``: the versions that the adapter allows.
        releases: those that were measured or tried, the oldest first.
        changes: from each to the next, the oldest first.
        left: releases within the range that were not measured. ``prereleases``, ``yanked``: the same for those.
        beyond: newer releases than all that the adapter allows.
    """

    framework: str
    package: str = ""
    allowed: str = ""
    releases: tuple[ReleaseRow, ...]
    changes: tuple[ReleaseChange, ...] = ()
    left: tuple[str, ...] = ()
    prereleases: tuple[str, ...] = ()
    yanked: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    @property
    def measured(self) -> list[str]:
        """The releases that were measured, the oldest first."""
        return [row.release for row in self.releases if not row.failure]


def report_on(
    folder: ReleaseFolder, known: KnownReleases | None = None, wanted: SpecifierSet | None = None
) -> ReleasesReport:
    """Return the report on the releases of a folder in a range, next to those that the index has."""
    known, wanted = known or KnownReleases(), wanted or SpecifierSet()
    measured = [one for one in folder if wanted.contains(one.release, prereleases=True)]
    others = [one for one in known.within(wanted) if one.version not in {one.release for one in measured}]
    return ReleasesReport(
        framework=folder.framework,
        package=known.package,
        allowed=known.allowed,
        releases=tuple(_rows(measured, {*FrameworkSpec.parse(folder.framework).packages, "trialbed"})),
        changes=changes_between([one for one in measured if not one.failure]),
        left=tuple(one.version for one in others if one.usable),
        prereleases=tuple(one.version for one in others if one.is_prerelease),
        yanked=tuple(one.withdrawal for one in others if one.withdrawal and not one.is_prerelease),
        beyond=tuple(known.beyond(wanted)),
    )


def changes_between(measured: Sequence[MeasuredRelease]) -> tuple[ReleaseChange, ...]:
    """Return the changes of all figures of these releases, which are in order, the oldest first.

    A probe that was skipped or not completed in a release is compared with the last one before it in which it was.
    """
    last: dict[tuple[str, ...], tuple[str, dict[str, Json]]] = {}
    alike: dict[tuple[str, ...], list[tuple[str, Json, Json]]] = {}
    seen = (
        (one.release, adapter, finding)
        for one in measured
        for adapter in one.figures
        for finding in adapter.findings.values()
    )
    for release, adapter, finding in seen:
        probe, now = (adapter.profile or "", finding.theme, finding.check), _figures(finding)
        after, before = last.get(probe, (release, now))
        # A probe that failed has no figures by name; the failure is the change.
        for name in {**before, **now} if min(len(before), len(now)) > 1 else [*now][:1]:
            old, new = before.get(name, ABSENT), now.get(name, ABSENT)
            if _exact(old) != _exact(new):
                same = (release, after, *probe[:2], _in_words(old), _in_words(new))
                subject = f"{finding.check}: {name}" if name else finding.check
                alike.setdefault(same, []).append((subject, old, new))
        if now:
            last[probe] = release, now
    names = ("release", "after", "profile", "part", "before", "now")
    return tuple(
        ReleaseChange(
            **dict(zip(names, same, strict=True)),
            subjects=tuple(subject for subject, *_ in found),
            evidence=_first_difference(*found[0][1:]),
        )
        for same, found in alike.items()
    )


def _figures(finding: CheckFinding) -> dict[str, Json]:
    """Return the figures by name, and the outcome without a name; empty if the probe was not completed."""
    if finding.outcome in ("skipped", "error"):
        return {}
    outcome = "as expected" if finding.outcome in ("passed", "outdated", "seen") else "not as expected"
    if isinstance(finding.seen, dict):
        return {"": outcome} | {name: seen for name, seen in finding.seen.items() if not _TIMED.search(name)}
    return {"": outcome if finding.seen is None else finding.seen}


def _exact(seen: Json) -> str:
    """Return a text that is equal for equal figures; ``1`` and ``true`` are two values."""
    return _SECONDS.sub("…", without_varying_parts(seen)) if isinstance(seen, str) else json.dumps(seen, sort_keys=True)


def _in_words(seen: Json) -> str:
    if isinstance(seen, list):
        size = sum(len(json.dumps(body)) for body in seen)
        return f"{number_of(len(seen), 'request')}, {size:,} bytes"
    return f"{seen:,}" if type(seen) in (int, float) else one_line(_exact(seen), LONGEST)


def _first_difference(before: Json, now: Json) -> str:
    """Return the first difference of the requests of two trials; empty for other figures."""
    if not (isinstance(before, list) and isinstance(now, list)):
        return ""
    pairs = enumerate(zip(before, now, strict=False), 1)
    where = ((number, found) for number, (old, new) in pairs for found in differences(old, new))
    number, found = next(where, (0, Difference(pointer="", kind="changed")))
    if not number:
        return f"{len(before)} → {len(now)} requests; as far as both go they are equal"
    given, sent = found.given, found.sent
    if found.kind != "changed":
        told = show(sent if found.kind == "added" else given)
    elif isinstance(given, str) and isinstance(sent, str):
        told = tell_texts_apart(given, sent)
    else:
        told = f"{show(given)} → {show(sent)}"
    return one_line(f"request {number}, {found.pointer or '/'} {found.kind}: {told}", LONGEST)


def _rows(measured: Sequence[MeasuredRelease], own: set[str]) -> Iterator[ReleaseRow]:
    """Yield a row for each release; its own packages change their versions with each."""
    before: dict[str, str] = {}
    for one in measured:
        packages = dict(line.split("==", 1) for line in one.packages)
        versions = {name: (before.get(name, ABSENT), packages.get(name, ABSENT)) for name in {*before, *packages} - own}
        changed = sorted(f"{name} {old} → {new}" for name, (old, new) in versions.items() if before and old != new)
        reports = [adapter.report for adapter in one.figures if adapter.report]
        missing = [f"{adapter.label}: {adapter.reason}" for adapter in one.figures if not adapter.report]
        for report in reports:
            errors = [finding for finding in report.findings if finding.outcome == "error"]
            missing += [f"{report.framework}, {finding.check}: {finding.message}" for finding in errors]
        yield ReleaseRow(
            **one.model_dump(include={*ReleaseConditions.model_fields}),
            adapter=next((f"{report.adapter} {report.adapter_version}" for report in reports), ""),
            packages=len(packages),
            others=tuple(changed),
            missing=tuple(missing),
        )
        before = packages or before


def report_tables(report: ReleasesReport, *, whole: bool = True) -> list[Table]:
    """Return the releases, and a table of changes for each that has any; values are cut for a terminal."""
    columns = ("release", "published", "packages", "MiB", "kit", "changes")
    rows = [TableRow(row.release, _cells(report, row), bool(row.failure)) for row in report.releases]
    overview = Table("Releases", columns, rows, [_sentence(report), *_notes(report)])
    return [overview, *_changes(report, 1000 if whole else LONGEST_CELL)]


def _sentence(report: ReleasesReport) -> str:
    """Return the result in one sentence."""
    name, measured = report.framework, report.measured
    if not measured:
        return f"No release of {name} could be measured."
    if len(measured) == 1:
        return f"{name} {measured[0]} is the only one here; there is nothing to compare it with."
    changed = dict.fromkeys(change.release for change in report.changes)
    steps = f"{number_of(len(measured) - 1, 'step')} between neighbours"
    result = f"{len(changed)} of {steps} changed something: {', '.join(changed)}"
    return f"{name} {measured[0]} to {measured[-1]}: {result if changed else f'no change in {steps}'}."


def _cells(report: ReleasesReport, row: ReleaseRow) -> tuple[str, ...]:
    published = row.published[:10] or UNKNOWN
    if row.failure:
        return (published, UNKNOWN, UNKNOWN, "not measured", UNKNOWN)
    counts = Counter(change.profile for change in report.changes if change.release == row.release)
    changed = ", ".join(f"{count} {profile}".strip() for profile, count in counts.items()) or "none"
    return (published, str(row.packages), f"{row.size / 2**20:,.0f}", row.kit[:8], changed)


def _notes(report: ReleasesReport) -> Iterator[str]:
    left = f"; {number_were(len(report.left), 'more release')} not measured" if report.left else ""
    if report.package:
        yield f"The adapter allows {report.package}{report.allowed or ' in any version'}{left}."
    others = {
        "pre-releases": report.prereleases,
        "withdrawn (yanked)": report.yanked,
        "newer than the adapter allows": report.beyond,
    }
    yield from (f"Not measured, {what}: {first_of(names, NAMED)}." for what, names in others.items() if names)
    for row in report.releases:
        if row.failure:
            yield f"{row.release} was not measured: {one_line(row.failure, LONGEST_REASON)}"
        yield from (f"{row.release}, not measured: {one_line(reason, LONGEST_REASON)}" for reason in row.missing)
    if len({row.kit for row in report.releases if not row.failure}) > 1:
        yield "Releases with another digest of the kit were measured by another state of it; changes may be the kit's."


def _changes(report: ReleasesReport, longest: int) -> Iterator[Table]:
    packages = {row.release: row.others for row in report.releases}
    columns = ("what", "profile", "before", "now", "first difference")
    for (release, after), changes in group_by_key(((one.release, one.after), one) for one in report.changes).items():
        rows = []
        for one in changes:
            what = f"{one.part}: {first_of(one.subjects, NAMED)}{one.aspect and f', {one.aspect}'}"
            values = (one_line(text, longest) for text in (one.before, one.now, one.evidence or UNKNOWN))
            rows.append((what, one.profile or UNKNOWN, *values))
        others = packages[release]
        note = f"Other packages that changed: {first_of(others, NAMED)}." if others else "No other package changed."
        yield Table.of(f"{release}, after {after}", columns, rows, [note])
