"""The report on a framework's releases: every fact with the releases at which it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from packaging.specifiers import SpecifierSet
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


class HistoryPoint(Record):
    """A value, and the release from which on it is seen.

    Attributes:
        evidence: the first thing on the wire that differs from the release before; empty where the value says it.
        after: the last release before it of which the fact is known; empty where that is the one measured before it.
    """

    release: str
    value: str
    evidence: str = ""
    after: str = ""


class FactHistory(Record):
    """One fact over the releases.

    Attributes:
        subjects: those that it holds for alike.
        points: the first is that of the oldest release.
    """

    profile: str
    part: str
    subjects: tuple[str, ...]
    aspect: str
    points: tuple[HistoryPoint, ...]


class ReleasesReport(Record):
    """A framework over its releases.

    Attributes:
        package: that the index was asked for. ``allowed``: the versions that the adapter allows.
        releases: that were measured or tried, the oldest first.
        left: releases within the range that were not measured. ``prereleases``, ``yanked``: the same for those.
        beyond: newer releases than all that the adapter allows.
        since: the release that newer ones are shown beside; empty where not only newer ones were asked for.
    """

    framework: str
    package: str
    allowed: str
    releases: tuple[ReleaseRow, ...]
    histories: tuple[FactHistory, ...]
    left: tuple[str, ...] = ()
    prereleases: tuple[str, ...] = ()
    yanked: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    since: str = ""

    @property
    def measured(self) -> list[str]:
        """The releases that were measured, the oldest first."""
        return [row.release for row in self.releases if not row.failure]


def histories_of(measured: Sequence[MeasuredRelease]) -> tuple[FactHistory, ...]:
    """Return every fact of these releases, which are in order, with the releases at which it changed."""
    usable = [one for one in measured if not one.failure]
    facts = [(one.release, facts_of(one), _gaps(one)) for one in usable]
    keys = dict.fromkeys(key for _, found, _ in facts for key in found)
    alike: dict[tuple[str, str, str, tuple[HistoryPoint, ...]], list[str]] = {}
    for key in keys:
        points = _points([(release, found.get(key), _is_gap(key, gaps)) for release, found, gaps in facts])
        alike.setdefault((key.profile, key.part, key.aspect, points), []).append(key.subject)
    return tuple(
        FactHistory(profile=profile, part=part, subjects=tuple(subjects), aspect=aspect, points=points)
        for (profile, part, aspect, points), subjects in alike.items()
    )


def _gaps(measured: MeasuredRelease) -> set[tuple[str, str]]:
    """Return profiles and parts that could not be measured; a profile with an empty part could not be loaded."""
    gaps = {(one.profile or "", gap.part) for one in measured.figures for gap in one.missing}
    return gaps | {(framework_profile(one.framework) or "", "requests") for one in measured.requests if one.reason}


def _is_gap(key: FactKey, gaps: set[tuple[str, str]]) -> bool:
    """Return whether nothing is known of a fact; that something was not measured is known itself."""
    return key.part != NOT_MEASURED and not gaps.isdisjoint({key[:2], (key.profile, "")})


def _points(seen: Sequence[tuple[str, Fact | None, bool]]) -> tuple[HistoryPoint, ...]:
    """Return the changes of a fact.

    Args:
        seen: each release, its fact, and whether nothing is known of it.
    """
    points: list[HistoryPoint] = []
    last: Fact | None = None
    known, before = "", ""
    for release, fact, gap in seen:
        if not gap and not (points and _exact(last) == _exact(fact)):
            evidence = first_difference(last, fact) if points and last and fact else ""
            value = fact.shown if fact else ABSENT
            after = known if known != before else ""
            points.append(HistoryPoint(release=release, value=value, evidence=evidence, after=after))
            last = fact
        known, before = known if gap else release, release
    return tuple(points)


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
        histories=histories_of(measured),
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
