"""The changes between neighbours, from each release to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.version import Version

from trialbed.records import Record
from trialbed_adapter_lab.releases._report import FactHistory, ReleasesReport


class ReleaseChange(Record):
    """One change; where several subjects change alike, they are one.

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


def changes_of(report: ReleasesReport, releases: Sequence[str] = ()) -> list[ReleaseChange]:
    """Return the changes of a report, the oldest first.

    Args:
        releases: only those that are first seen in these; empty for all.
    """
    measured = report.measured
    found = [
        change
        for history in report.histories
        for change in _changes(history, measured)
        if not releases or change.release in releases
    ]
    return sorted(_merge(found), key=lambda change: measured.index(change.release))


def release_between(report: ReleasesReport) -> str:
    """Return a release that was not measured and would narrow a change down; empty where every change is exact.

    It is in the middle of those between two neighbours that differ.
    """
    for change in changes_of(report):
        oldest, newest = Version(change.after), Version(change.release)
        between = [release for release in report.left if oldest < Version(release) < newest]
        if between:
            return between[len(between) // 2]
    return ""


def _changes(history: FactHistory, measured: Sequence[str]) -> Iterator[ReleaseChange]:
    for old, new in zip(history.points, history.points[1:], strict=False):
        yield ReleaseChange(
            release=new.release,
            after=new.after or measured[measured.index(new.release) - 1],
            profile=history.profile,
            part=history.part,
            subjects=history.subjects,
            aspect=history.aspect,
            before=old.value,
            now=new.value,
            evidence=new.evidence,
        )


def _merge(found: Sequence[ReleaseChange]) -> list[ReleaseChange]:
    """Return the changes with those put together that differ in their subject and evidence alone."""
    alike: dict[tuple[str, ...], ReleaseChange] = {}
    for change in found:
        key = (change.release, change.after, change.profile, change.part, change.aspect, change.before, change.now)
        if key in alike:
            change = alike[key].model_copy(update={"subjects": (*alike[key].subjects, *change.subjects)})
        alike[key] = change
    return list(alike.values())
