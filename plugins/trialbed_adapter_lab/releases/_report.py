"""The report on a framework's releases: under which conditions they were measured, and the changes between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise, takewhile

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import Field

from trialbed.environments import FrameworkSpec
from trialbed.records import Record, framework_profile
from trialbed_adapter_lab.releases._choice import Wanted
from trialbed_adapter_lab.releases._facts import NOT_MEASURED, Fact, FactKey, facts_of, first_difference
from trialbed_adapter_lab.releases._folder import ReleaseFolder
from trialbed_adapter_lab.releases._index import PublishedRelease
from trialbed_adapter_lab.releases._records import KnownReleases, MeasuredRelease

ABSENT = "(none)"
"""Stands where a release has no such fact."""


class ReleaseRow(Record):
    """A release, and the conditions under which it was measured.

    Attributes:
        packages: of its environment, how many. ``size``: bytes of them.
        others: packages beside the framework's own that have another version than with the release before it, as
            ``name OLD → NEW``.
        cpu_ms: profile -> median processor milliseconds of a trial of four turns.
        failure: why it was not measured; empty if it was.
    """

    release: str
    published: datetime | None = None
    measured_at: datetime
    kit: str
    trialbed: str
    adapter: str = ""
    python: str
    system: str
    lock_digest: str = ""
    packages: int = 0
    size: int = 0
    others: tuple[str, ...] = ()
    cpu_ms: dict[str, float] = Field(default_factory=dict)
    failure: str = ""


class ReleaseChange(Record):
    """One change from a release to the next; where several subjects change alike, they are one.

    Attributes:
        release: the first in which it is seen. ``after``: the one before it in which this was measured.
        before, now: the two values. ``evidence``: the first thing on the wire that differs, where the values do not
            say it; of the first subject.
    """

    release: str
    after: str
    profile: str
    part: str
    subjects: tuple[str, ...]
    aspect: str
    before: str
    now: str
    evidence: str = ""


class ReleasesReport(Record):
    """A framework over its releases.

    Attributes:
        package: that the index was asked for. ``allowed``: the versions that the adapter allows.
        releases: that were measured or tried, the oldest first.
        changes: from each to the next, the oldest first.
        left: releases within the range that were not measured. ``prereleases``, ``yanked``: the same for those.
        beyond: newer releases than all that the adapter allows.
        since: the release that newer ones are shown beside; empty where not only newer ones were asked for.
    """

    framework: str
    package: str
    allowed: str
    releases: tuple[ReleaseRow, ...]
    changes: tuple[ReleaseChange, ...] = ()
    left: tuple[str, ...] = ()
    prereleases: tuple[str, ...] = ()
    yanked: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    since: str = ""

    @property
    def measured(self) -> list[str]:
        """The releases that were measured, the oldest first."""
        return [row.release for row in self.releases if not row.failure]


def changes_between(measured: Sequence[MeasuredRelease]) -> tuple[ReleaseChange, ...]:
    """Return the changes of every fact of these releases, which are in order, the oldest first."""
    usable = [one for one in measured if not one.failure]
    facts = [(one.release, facts_of(one), _gaps(one)) for one in usable]
    keys = dict.fromkeys(key for _, found, _ in facts for key in found)
    alike: dict[tuple[str, ...], ReleaseChange] = {}
    for key in keys:
        known = [(release, found.get(key)) for release, found, gaps in facts if not _is_gap(key, gaps)]
        for change in _changes(key, known):
            same = (change.release, change.after, *key[:2], key.aspect, change.before, change.now)
            first = alike.setdefault(same, change)
            if first is not change:
                alike[same] = first.model_copy(update={"subjects": (*first.subjects, key.subject)})
    places = {one.release: place for place, one in enumerate(usable)}
    return tuple(sorted(alike.values(), key=lambda change: places[change.release]))


def release_between(report: ReleasesReport) -> str:
    """Return a release that was not measured and would narrow a change down; empty where every change is exact.

    It is in the middle of those between two neighbours that differ.
    """
    for change in report.changes:
        oldest, newest = Version(change.after), Version(change.release)
        between = [release for release in report.left if oldest < Version(release) < newest]
        if between:
            return between[len(between) // 2]
    return ""


def _gaps(measured: MeasuredRelease) -> set[tuple[str, str]]:
    """Return profiles and parts that could not be measured; a profile with an empty part could not be loaded."""
    gaps = {(one.profile or "", gap.part) for one in measured.figures for gap in one.missing}
    return gaps | {(framework_profile(one.framework) or "", "requests") for one in measured.requests if one.reason}


def _is_gap(key: FactKey, gaps: set[tuple[str, str]]) -> bool:
    """Return whether nothing is known of a fact; that something was not measured is known itself."""
    return key.part != NOT_MEASURED and not gaps.isdisjoint({key[:2], (key.profile, "")})


def _changes(key: FactKey, known: Sequence[tuple[str, Fact | None]]) -> Iterator[ReleaseChange]:
    """Yield the changes of a fact over the releases of which it is known."""
    last: Fact | None = None
    for (after, _), (release, fact) in pairwise([("", None), *known]):
        if after and _exact(last) != _exact(fact):
            yield ReleaseChange(
                release=release,
                after=after,
                profile=key.profile,
                part=key.part,
                subjects=(key.subject,),
                aspect=key.aspect,
                before=last.shown if last else ABSENT,
                now=fact.shown if fact else ABSENT,
                evidence=first_difference(last, fact) if last and fact else "",
            )
        if not after or _exact(last) != _exact(fact):
            last = fact


def _exact(fact: Fact | None) -> str | None:
    return None if fact is None else fact.exact


def rows_of(measured: Sequence[MeasuredRelease], own: Sequence[str]) -> tuple[ReleaseRow, ...]:
    """Return a row for each release.

    Args:
        own: the framework's own packages, whose versions change with each release.
    """
    rows: list[ReleaseRow] = []
    before: dict[str, str] = {}
    for one in measured:
        packages = dict(line.split("==", 1) for line in one.packages)
        others = tuple(_other_versions(before, packages, {*own, "trialbed"})) if before else ()
        before = packages or before
        rows.append(
            ReleaseRow(
                **one.model_dump(include={*ReleaseRow.model_fields} - {"packages", "others", "cpu_ms", "adapter"}),
                adapter=one.adapter,
                packages=len(packages),
                others=others,
                cpu_ms={
                    framework_profile(sent.framework) or "": sent.cpu_ms.median for sent in one.requests if sent.cpu_ms
                },
            )
        )
    return tuple(rows)


def _other_versions(before: dict[str, str], now: dict[str, str], own: set[str]) -> Iterator[str]:
    for name in sorted({*before, *now} - own):
        old, new = before.get(name, ABSENT), now.get(name, ABSENT)
        if old != new:
            yield f"{name} {old} → {new}"


def report_on(folder: ReleaseFolder, wanted: Wanted | None = None) -> ReleasesReport:
    """Return the report on the releases of a folder.

    Args:
        wanted: has the versions between which they are; None for all.
    """
    known = folder.index() or KnownReleases(package="", allowed="", published=())
    limits = wanted or Wanted()
    measured = [one for one in folder if limits.includes(one.release)]
    there = {one.release for one in measured}
    allowed = SpecifierSet(known.allowed)
    others = [
        one
        for one in known.published
        if one.version not in there and limits.includes(one.version) and allowed.contains(one.version, prereleases=True)
    ]
    own = FrameworkSpec.parse(folder.framework).packages
    return ReleasesReport(
        framework=folder.framework,
        package=known.package,
        allowed=known.allowed,
        releases=rows_of(measured, own),
        changes=changes_between(measured),
        left=tuple(one.version for one in others if not (one.is_prerelease or one.yanked)),
        prereleases=tuple(one.version for one in others if one.is_prerelease),
        yanked=tuple(map(_with_reason, (one for one in others if one.yanked and not one.is_prerelease))),
        beyond=tuple(one.version for one in _beyond(known.published, allowed) if limits.includes(one.version)),
        since=limits.first if limits.newer else "",
    )


def _beyond(published: Sequence[PublishedRelease], allowed: SpecifierSet) -> Iterator[PublishedRelease]:
    """Return the releases, which are in order, that come after the last one that is allowed."""
    usable = [one for one in published if not (one.is_prerelease or one.yanked)]
    return reversed([*takewhile(lambda one: not allowed.contains(one.version), reversed(usable))])


def _with_reason(release: PublishedRelease) -> str:
    return f"{release.version} ({release.yanked_reason})" if release.yanked_reason else release.version
