"""The releases of a package that an index has (PEP 691), and the choice of those that are measured."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distributions
from urllib.parse import urlsplit

import httpx
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from trialbed.environments import BuildRequest, EnvironmentStore, Uv, UvFailed
from trialbed.errors import DataError, EnvironmentFailed, NothingMeasured, UsageError
from trialbed.records import Json, Record
from trialbed.texts import group_by_key, one_line

PYPI = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json"
SECONDS = 60.0
LARGEST = 50_000_000
"""Bytes of a page that are read; the longest of public packages have a tenth."""

LONGEST = 200
"""Characters of a file's name that is looked at, and of a reason that is kept."""


class PublishedRelease(Record):
    """A release as an index has it.

    Attributes:
        published: time of its first file, if the index says so.
        withdrawal: the version with the reason why all of its files are withdrawn (yanked); empty if they are not.
    """

    version: str
    published: str = ""
    withdrawal: str = ""

    @property
    def is_prerelease(self) -> bool:
        """Its version says that it comes before a release."""
        return Version(self.version).is_prerelease

    @property
    def usable(self) -> bool:
        """It is neither a pre-release nor withdrawn."""
        return not (self.is_prerelease or self.withdrawal)


class KnownReleases(Record):
    """The releases that an index has.

    Attributes:
        package: its name on the index. ``allowed``: the versions of it that the adapter allows.
        published: all of them, the oldest first.
    """

    package: str = ""
    allowed: str = ""
    published: tuple[PublishedRelease, ...] = ()

    def within(self, wanted: SpecifierSet) -> list[PublishedRelease]:
        """Return those in a range that the adapter allows, pre-releases and withdrawn ones too."""
        allowed = SpecifierSet(self.allowed) & wanted
        return [one for one in self.published if allowed.contains(one.version, prereleases=True)]

    def beyond(self, wanted: SpecifierSet) -> list[str]:
        """Return the versions in a range that are newer than all that the adapter allows."""
        newest = max((Version(one.version) for one in self.within(SpecifierSet()) if one.usable), default=None)
        usable = [one.version for one in self.published if one.usable and wanted.contains(one.version)]
        return [version for version in usable if newest is None or Version(version) > newest]


def version_range(first: str = "", last: str = "") -> SpecifierSet:
    """Return the range between two versions, which belong to it; an empty one is no limit."""
    return SpecifierSet(",".join([f">={first}"] * bool(first) + [f"<={last}"] * bool(last)))


def choose(known: KnownReleases, wanted: SpecifierSet, most: int = 0) -> list[PublishedRelease]:
    """Return the releases to measure, the oldest first; the oldest and the newest of the range are always among them.

    Pre-releases and withdrawn ones are not. Raises UsageError if none is in the range.

    Args:
        most: at most this many; the newest if it is one, and all if it is zero.
    """
    found = [one for one in known.within(wanted) if one.usable]
    if not found:
        raise UsageError(
            f"no release is in the range {wanted or 'of all'} that the adapter allows ({known.allowed or 'any'}); "
            f"the index has {len(known.published)} releases"
        )
    if not 1 < most < len(found):
        return found[-1:] if most == 1 else found
    step = (len(found) - 1) / (most - 1)
    return [found[round(number * step)] for number in range(most)]


async def known_releases(request: BuildRequest, store: EnvironmentStore) -> KnownReleases:
    """Return the releases of the framework's own package that the index has, and those that the adapter allows."""
    package = canonicalize_name(request.framework.packages[0])
    limits = SpecifierSet()
    for line in await _dependencies(request, store):
        with suppress(InvalidRequirement):
            needed = Requirement(line)
            if canonicalize_name(needed.name) == package and (needed.marker is None or needed.marker.evaluate()):
                limits &= needed.specifier
    published = await asyncio.to_thread(published_releases, package)
    return KnownReleases(package=package, allowed=str(limits), published=tuple(published))


async def _dependencies(request: BuildRequest, store: EnvironmentStore) -> list[str]:
    """Return the requirements that the adapter declares."""
    store.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        install = ("pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", place)
        try:
            await Uv(store.folder)(*install, "--requirement", "-", stdin=request.requirements[1].removeprefix("-e "))
        except UvFailed as failure:
            name = request.framework.text
            raise EnvironmentFailed(f"{name}: its adapter cannot be looked at: {failure}") from failure
        return [one for item in distributions(path=[place]) for one in item.requires or ()]


def indexes() -> list[str]:
    """The indexes that uv's variables name, in the order in which uv asks them; an entry is ``URL`` or ``NAME=URL``."""
    named = [*os.environ.get("UV_INDEX", "").split(), *os.environ.get("UV_EXTRA_INDEX_URL", "").split()]
    default = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or PYPI
    return [entry.partition("=")[2] if "=" in entry.partition("://")[0] else entry for entry in (*named, default)]


def published_releases(package: str) -> list[PublishedRelease]:
    """Return the releases of a package, the oldest first, from the first index that has it."""
    hosts = {index: urlsplit(index).hostname or index for index in indexes()}
    with httpx.Client(timeout=SECONDS, follow_redirects=True, headers={"Accept": ACCEPT}) as client:
        for index, host in hosts.items():
            page = _page(client, f"{index.rstrip('/')}/{canonicalize_name(package)}/", f"{host}: its page of {package}")
            if page is not None:
                return releases_on(page, package)
    asked = ", ".join(hosts.values())
    raise DataError(f"{package}: no index has it (asked: {asked}); UV_INDEX and UV_DEFAULT_INDEX name others")


def _page(client: httpx.Client, url: str, name: str) -> bytes | None:
    """Return a page; None if the index does not have it."""
    try:
        with client.stream("GET", url) as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                return None
            response.raise_for_status()
            content = b""
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > LARGEST:
                    raise DataError(f"{name} is longer than {LARGEST:,} bytes")
            return content
    except httpx.HTTPStatusError as error:
        raise NothingMeasured(f"{name} is refused with {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise NothingMeasured(f"{name} cannot be read: {type(error).__name__}") from error


def releases_on(page: bytes, package: str) -> list[PublishedRelease]:
    """Return the releases on a page of files, the oldest first; files that are not the package's do not count."""
    try:
        files = json.loads(page)["files"]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise DataError(f"the index's page of {package} is not a list of files in JSON (PEP 691)") from error
    found = []
    for file in files if isinstance(files, list) else []:
        # A file may be anything, and its name may be wrong in many ways, all of which are ValueError.
        with suppress(ValueError, TypeError, LookupError):
            name = str(file["filename"])[:LONGEST]
            owner, version = (parse_wheel_filename if name.endswith(".whl") else parse_sdist_filename)(name)[:2]
            if owner == canonicalize_name(package):
                found.append((version, (str(file.get("upload-time") or "")[:LONGEST], file.get("yanked"))))
    return [_release(str(version), about) for version, about in sorted(group_by_key(found).items())]


def _release(version: str, files: Sequence[tuple[str, Json]]) -> PublishedRelease:
    published = min((time for time, _ in files if time), default="")
    reason = next((one_line(reason, LONGEST) for _, reason in files if isinstance(reason, str)), "")
    withdrawal = (f"{version} ({reason})" if reason else version) if all(reason for _, reason in files) else ""
    return PublishedRelease(version=version, published=published, withdrawal=withdrawal)
