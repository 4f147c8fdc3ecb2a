"""The choice of the releases that are measured, out of those that an index has."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from trialbed.environments import BuildRequest, EnvironmentStore, Uv, UvFailed, requirement_folder
from trialbed.errors import EnvironmentFailed, UsageError
from trialbed_adapter_lab.releases._index import PublishedRelease, published_releases
from trialbed_adapter_lab.releases._records import KnownReleases


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The wishes of a user for the releases.

    Attributes:
        first, last: versions between which they are; empty for all that the adapter allows.
        most: at most so many, the oldest and the newest among them; 0 for all.
        newer: the first was measured before, and is there to be compared with newer ones, of which there may be none.
    """

    first: str = ""
    last: str = ""
    most: int = 0
    newer: bool = False

    def includes(self, release: str) -> bool:
        """Return whether a version is between the two."""
        version = Version(release)
        return not ((self.first and version < Version(self.first)) or (self.last and version > Version(self.last)))


def choose(published: Sequence[PublishedRelease], allowed: SpecifierSet, wanted: Wanted) -> list[PublishedRelease]:
    """Return the releases to measure, the oldest first; the oldest and the newest of the range are always among them.

    Pre-releases and withdrawn ones are not.

    Raises:
        UsageError: none is in the range.
    """
    within = [
        one for one in published if allowed.contains(one.version, prereleases=True) and wanted.includes(one.version)
    ]
    # That which newer ones are compared with is usable whatever has become of it, such as withdrawn.
    usable = [
        one for one in within if not (one.is_prerelease or one.yanked) or (wanted.newer and one.version == wanted.first)
    ]
    if not usable and not wanted.newer:
        raise UsageError(
            f"no release is between {wanted.first or 'the oldest'} and {wanted.last or 'the newest'} that the adapter "
            f"allows ({allowed or 'any'}); the index has {len(published)} releases"
        )
    return _spread(usable, wanted.most)


def _spread(usable: list[PublishedRelease], most: int) -> list[PublishedRelease]:
    if not 1 < most < len(usable):
        return usable[-1:] if most == 1 else usable
    last = len(usable) - 1
    return [usable[place] for place in sorted({round(number * last / (most - 1)) for number in range(most)})]


async def known_releases(request: BuildRequest, store: EnvironmentStore) -> KnownReleases:
    """Return the releases of the framework's own package that the index has, and those that the adapter allows.

    Raises:
        EnvironmentFailed: the adapter cannot be looked at.
        DataError: no index has the package, or its page cannot be read.
        NothingMeasured: an index cannot be asked.
    """
    package = canonicalize_name(request.framework.packages[0])
    needed = [one for one in _read(await _requirements(request, store)) if canonicalize_name(one.name) == package]
    allowed = SpecifierSet(",".join(str(one.specifier) for one in needed if str(one.specifier)))
    published = await asyncio.to_thread(published_releases, package)
    return KnownReleases(package=package, allowed=str(allowed), published=tuple(published))


async def _requirements(request: BuildRequest, store: EnvironmentStore) -> Iterable[str]:
    folder = requirement_folder(request.requirements[1])
    declared = None if folder is None else _dependencies(folder / "pyproject.toml")
    if declared is not None:
        return declared
    store.folder.mkdir(parents=True, exist_ok=True)
    line = request.requirements[1].removeprefix("-e ")
    with tempfile.TemporaryDirectory() as place:
        install = ("pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", place)
        try:
            await Uv(store.folder)(*install, "--requirement", "-", stdin=line)
        except UvFailed as failure:
            raise EnvironmentFailed(
                f"{request.framework.text}: its adapter cannot be looked at: {failure}"
            ) from failure
        return [line for item in distributions(path=[place]) for line in item.requires or ()]


def _dependencies(path: Path) -> list[str] | None:
    """Return the dependencies that a project declares; None if only a build of it can say."""
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return None
    return None if "dependencies" in project.get("dynamic", ()) else list(project.get("dependencies", ()))


def _read(lines: Iterable[str]) -> Iterable[Requirement]:
    for line in lines:
        try:
            needed = Requirement(line)
        except InvalidRequirement:
            continue
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield needed
