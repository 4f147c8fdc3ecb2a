"""The choice of the releases that are measured, out of those that an index has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trialbed.errors import UsageError
from trialbed_adapter_lab.releases._index import PublishedRelease

MINOR = "minor"
"""The newest of each minor release alone is measured."""


@dataclass(frozen=True)
class Choice:
    """The releases within the range.

    Attributes:
        chosen: to measure, the oldest first.
        left: released too, and not chosen, since not every one is to be measured.
        prereleases, yanked: not measured unless they are asked for.
    """

    chosen: tuple[PublishedRelease, ...]
    left: tuple[PublishedRelease, ...] = ()
    prereleases: tuple[PublishedRelease, ...] = ()
    yanked: tuple[PublishedRelease, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The wishes of a user for the releases.

    Attributes:
        first, last: versions between which they are; empty for all that the adapter allows.
        every: a number: each so manieth, counted back from the newest; ``minor``: the newest of each minor release.
        most: at most so many, the oldest and the newest among them; 0 for all.
        prereleases, yanked: whether such are wanted too.
    """

    first: str = ""
    last: str = ""
    every: str = ""
    most: int = 0
    prereleases: bool = False
    yanked: bool = False

    def includes(self, release: str) -> bool:
        """Return whether a version is between the two."""
        version = Version(release)
        return not ((self.first and version < Version(self.first)) or (self.last and version > Version(self.last)))


def choose(published: Sequence[PublishedRelease], allowed: SpecifierSet, wanted: Wanted) -> Choice:
    """Return the releases to measure; the oldest and the newest of the range are always among them.

    Raises:
        UsageError: none is in the range.
    """
    within = [
        one for one in published if allowed.contains(one.version, prereleases=True) and wanted.includes(one.version)
    ]
    early = tuple(one for one in within if one.is_prerelease and not wanted.prereleases)
    yanked = tuple(one for one in within if one.yanked and not wanted.yanked and one not in early)
    usable = [one for one in within if one not in early and one not in yanked]
    if not usable:
        raise UsageError(
            f"no release is between {wanted.first or 'the oldest'} and {wanted.last or 'the newest'} that the adapter "
            f"allows ({allowed or 'any'}); the index has {len(published)} releases"
        )
    chosen = _spread(_thin(usable, wanted.every), wanted.most)
    return Choice(tuple(chosen), tuple(one for one in usable if one not in chosen), early, yanked)


def _thin(usable: list[PublishedRelease], every: str) -> list[PublishedRelease]:
    if every == MINOR:
        newest = {Version(one.version).release[:2]: one for one in usable}
        kept = [one for one in usable if one in newest.values()]
    else:
        kept = usable[:: -int(every or 1)][::-1]
    return kept if usable[0] in kept else [usable[0], *kept]


def _spread(usable: list[PublishedRelease], most: int) -> list[PublishedRelease]:
    if not 1 < most < len(usable):
        return usable[-1:] if most == 1 else usable
    last = len(usable) - 1
    return [usable[place] for place in sorted({round(number * last / (most - 1)) for number in range(most)})]
