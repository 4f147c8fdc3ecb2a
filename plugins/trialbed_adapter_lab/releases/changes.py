"""The changes between releases: everything that was seen of each as facts, compared with those of its neighbour."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import Field

from trialbed.environments import FrameworkSpec
from trialbed.records import Json, Record, framework_profile, framework_release
from trialbed.texts import one_line
from trialbed.views import UNKNOWN
from trialbed_adapter_lab.differences import Difference, differences, without_varying_parts
from trialbed_adapter_lab.fidelity import FrameworkFidelity, SchemaFinding
from trialbed_adapter_lab.fidelity.views import describe_difference, part_rows, value
from trialbed_adapter_lab.releases.folder import MeasuredRelease, ReleaseFolder
from trialbed_adapter_lab.releases.index import KnownReleases, Wanted

LONGEST = 200
"""Characters of a text that a fact shows; it is compared as a whole."""

ABSENT = "(none)"
"""Stands where a release has no such fact."""

NOT_MEASURED = "not measured"
"""The part of facts that say why another part has none."""

TIMED = ("calls of one turn, s", "calls at once")
"""Rows of behaviour that depend on the speed of the machine."""


class FactKey(NamedTuple):
    """The subject of a fact.

    Attributes:
        profile: of the adapter; empty where it has none.
        part: of ``bench fidelity``, or ``requests``.
        subject: a case, a tool, a row of a table. ``aspect``: the side of it.
    """

    profile: str
    part: str
    subject: str
    aspect: str


@dataclass(frozen=True)
class Fact:
    """A fact.

    Attributes:
        shown: in few words. ``exact``: compared with that of other releases.
        bodies: of requests. ``changes``: to a schema, or to the arguments of its call, by their JSON.
    """

    shown: str
    exact: str
    bodies: tuple[Json, ...] = ()
    changes: Mapping[str, Difference] = field(default_factory=dict)


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
        since: the release that newer ones are shown next to; empty unless only newer ones were asked for.
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


def report_on(folder: ReleaseFolder, wanted: Wanted | None = None) -> ReleasesReport:
    """Return the report on the releases of a folder.

    Args:
        wanted: has the versions between which they are; None for all.
    """
    known = folder.index() or KnownReleases(package="", allowed="", published=())
    limits, allowed = wanted or Wanted(), SpecifierSet(known.allowed)
    measured = [one for one in folder if limits.includes(one.release)]
    published = [one for one in known.published if limits.includes(one.version)]
    there = {one.release for one in measured}
    others = [one for one in published if one.version not in there and allowed.contains(one.version, prereleases=True)]
    usable = [one.version for one in reversed(known.published) if one.usable]
    beyond = [*takewhile(lambda version: not allowed.contains(version), usable)]
    return ReleasesReport(
        framework=folder.framework,
        package=known.package,
        allowed=known.allowed,
        releases=tuple(_rows(measured, {*FrameworkSpec.parse(folder.framework).packages, "trialbed"})),
        changes=changes_between([one for one in measured if not one.failure]),
        left=tuple(one.version for one in others if one.usable),
        prereleases=tuple(one.version for one in others if one.is_prerelease),
        yanked=tuple(one.withdrawal for one in others if one.yanked and not one.is_prerelease),
        beyond=tuple(version for version in reversed(beyond) if limits.includes(version)),
        since=limits.first if limits.newer else "",
    )


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


def changes_between(measured: Sequence[MeasuredRelease]) -> tuple[ReleaseChange, ...]:
    """Return the changes of every fact of these releases, which are in order, the oldest first."""
    seen = [(one.release, facts_of(one), _gaps(one)) for one in measured]
    alike: dict[tuple[str, ...], tuple[list[str], str]] = {}
    for key in dict.fromkeys(key for _, facts, _ in seen for key in facts):
        after, last = "", None
        for release, facts, gaps in seen:
            # That something was not measured is known of each release.
            if key.part != NOT_MEASURED and not gaps.isdisjoint({key[:2], (key.profile, "")}):
                continue
            fact = facts.get(key)
            changed = (last and last.exact) != (fact and fact.exact)
            if after and changed:
                shown = [one.shown if one else ABSENT for one in (last, fact)]
                evidence = first_difference(last, fact) if last and fact else ""
                same = (release, after, key.profile, key.part, key.aspect, *shown)
                alike.setdefault(same, ([], evidence))[0].append(key.subject)
            # A text that is equal but for its varying parts is shown as it was at first.
            last, after = fact if changed else last, release
    names = ("release", "after", "profile", "part", "aspect", "before", "now")
    places = {release: place for place, (release, _, _) in enumerate(seen)}
    changes = [
        ReleaseChange(**dict(zip(names, same, strict=True)), subjects=tuple(subjects), evidence=evidence)
        for same, (subjects, evidence) in alike.items()
    ]
    return tuple(sorted(changes, key=lambda change: places[change.release]))


def facts_of(measured: MeasuredRelease) -> dict[FactKey, Fact]:
    """Return everything that was seen of a release, without times."""
    found = {FactKey(one.profile or "", *names): fact for one in measured.figures for names, fact in _facts(one)}
    for sent in measured.requests:
        if not sent.reason:
            size = sum(len(json.dumps(body)) for body in sent.bodies)
            fact = Fact(f"{len(sent.bodies)} requests, {size:,} bytes", _exact(sent.bodies), bodies=sent.bodies)
            found[FactKey(framework_profile(sent.framework) or "", "requests", "a trial with four tools", "")] = fact
    return found


def first_difference(before: Fact, now: Fact) -> str:
    """Return the first difference of the sources of two facts, in one line; empty if they have none."""
    if not (before.bodies and now.bodies):
        # The first change to a schema that only one of the two releases makes.
        new = [f"now {describe_difference(one)}" for key, one in now.changes.items() if key not in before.changes]
        gone = [one for key, one in before.changes.items() if key not in now.changes]
        return one_line(next(iter([*new, *(f"no longer {describe_difference(one)}" for one in gone)]), ""), LONGEST)
    for number, (old, new_body) in enumerate(zip(before.bodies, now.bodies, strict=False), 1):
        for found in differences(old, new_body):
            return one_line(f"request {number}, {describe_difference(found)}", LONGEST)
    return f"{len(before.bodies)} → {len(now.bodies)} requests; as far as both go they are equal"


def _gaps(measured: MeasuredRelease) -> set[tuple[str, str]]:
    """Return profiles and parts that could not be measured; a profile with an empty part could not be loaded."""
    gaps = {(one.profile or "", gap.part) for one in measured.figures for gap in one.missing}
    return gaps | {(framework_profile(one.framework) or "", "requests") for one in measured.requests if one.reason}


def _facts(one: FrameworkFidelity) -> Iterator[tuple[tuple[str, str, str], Fact]]:
    """Yield ``(part, subject, aspect)`` and the fact."""
    for part, aspect in (("errors", "the user sees"), ("behaviour", ""), ("prompt", "")):
        for row in part_rows(part, [one]) if getattr(one, part) is not None else ():
            if row.label not in TIMED:
                yield (part, row.label, aspect), _text(re.sub(r" after [\d.]{1,20} s$", "", row.cells[0]))
    for finding in one.errors or ():
        if finding.told and not finding.calls:
            yield ("errors", finding.case, "the model is told"), _text(finding.told)
        if finding.text and finding.seen != "answer":
            yield ("errors", finding.case, "in these words"), _text(finding.text)
    if one.behaviour is not None:
        calls = one.behaviour.parallel
        order = "at the same time" if calls.at_once > 1 else "one after the other"
        yield ("behaviour", "calls of one turn", ""), _text(f"{calls.made} of {calls.asked} made, {order}")
        for policy in (*one.behaviour.turns, *one.behaviour.refusals):
            text = f"{policy.requests.seen if policy.requests else UNKNOWN} requests, {policy.calls_made} calls"
            ended = f"; {policy.ended}" if policy.ended else ""
            yield ("behaviour", f"scripted:{policy.policy}", "requests"), _text(f"{text}{ended}")
    if one.schemas is not None:
        yield ("schemas", "all tools", "order"), _text(one.schemas.order)
        for schema in one.schemas.findings:
            yield ("schemas", schema.name, "offered as"), _offer(schema)
            yield ("schemas", schema.name, "called with"), _call(schema)
    for gap in one.missing:
        reason = _text(gap.reason)
        # A reason that names the release would be another with each.
        exact = reason.exact.replace(framework_release(one.framework) or reason.exact, "…")
        yield (NOT_MEASURED, gap.part or "everything", ""), Fact(reason.shown, exact)


def _offer(schema: SchemaFinding) -> Fact:
    kinds = [one.kind for one in schema.differences]
    shown = [f"as {schema.sent_name}"] if schema.sent_name not in (None, schema.name) else []
    shown += [f"{kind} {kinds.count(kind)}" for kind in dict.fromkeys(kinds)]
    shown += [effect for effect in schema.effects if effect in ("missing", "refused")]
    shown += [f"{key}: {value(item)}" for key, item in schema.beside.items()]
    changes = {one.model_dump_json(): one for one in schema.differences}
    exact = _exact([schema.effects, schema.sent_name, schema.beside, [*changes]])
    return Fact(", ".join(shown) or "as given", exact, changes=changes)


def _call(schema: SchemaFinding) -> Fact:
    shown = _text(f"{schema.call}: {schema.call_reason}" if schema.call_reason else schema.call).shown
    changes = {one.model_dump_json(): one for one in schema.call_differences}
    return Fact(shown, _exact([schema.call, schema.invented, [*changes]]), changes=changes)


def _text(text: str) -> Fact:
    lasting = without_varying_parts(text)
    return Fact(one_line(lasting, LONGEST), lasting)


def _exact(content: Any) -> str:
    """Return a text that is equal for equal JSON; ``1`` and ``true`` are two values."""
    return json.dumps(content, sort_keys=True)


def _rows(measured: Sequence[MeasuredRelease], own: set[str]) -> Iterator[ReleaseRow]:
    """Yield a row for each release.

    Args:
        own: packages whose versions change with each release.
    """
    before: dict[str, str] = {}
    for one in measured:
        packages = dict(line.split("==", 1) for line in one.packages)
        versions = {name: (before.get(name, ABSENT), packages.get(name, ABSENT)) for name in {*before, *packages} - own}
        changed = sorted(f"{name} {old} → {new}" for name, (old, new) in versions.items() if before and old != new)
        cpu = {framework_profile(sent.framework) or "": sent.cpu_ms.median for sent in one.requests if sent.cpu_ms}
        same = {*ReleaseRow.model_fields} - {"packages", "others", "cpu_ms", "adapter"}
        yield ReleaseRow(
            **one.model_dump(include=same),
            adapter=next((found.adapter for found in one.figures if found.adapter), ""),
            packages=len(packages),
            others=tuple(changed),
            cpu_ms=cpu,
        )
        before = packages or before
