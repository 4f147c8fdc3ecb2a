"""The releases of a package that an index has (PEP 503 and 691), and the choice of those that are measured."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from importlib.metadata import distributions
from itertools import takewhile
from typing import Any
from urllib.parse import urlsplit

import httpx
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from trialbed.environments import BuildRequest, EnvironmentStore, Uv, UvFailed
from trialbed.errors import DataError, EnvironmentFailed, NothingMeasured, UsageError
from trialbed.records import Record
from trialbed.texts import one_line

PYPI = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
SECONDS = 60.0
LARGEST = 50_000_000
"""Bytes of a page that are read; the longest of public packages have a tenth."""

LONGEST = 200
"""Characters of a file's name that is looked at, and of a reason that is kept."""


class PublishedRelease(Record):
    """A release as an index has it.

    Attributes:
        published: when its first file was, if the index says so.
        withdrawal: the version with the reason why all of its files are withdrawn (yanked); empty if they are not.
    """

    version: str
    published: datetime | None = None
    withdrawal: str = ""

    @property
    def is_prerelease(self) -> bool:
        """Its version says that it comes before a release."""
        return Version(self.version).is_prerelease

    @property
    def usable(self) -> bool:
        """It is neither a pre-release nor withdrawn."""
        return not (self.is_prerelease or self.withdrawal)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The wishes of a user for the releases.

    Attributes:
        first, last: versions between which they are; empty for all that the adapter allows.
        most: at most this many, the oldest and the newest among them; 0 for all.
        newer: the first was measured before, and is there to be compared with newer ones, if there are any.
    """

    first: str = ""
    last: str = ""
    most: int = 0
    newer: bool = False

    def includes(self, release: str) -> bool:
        """Return whether a version is between the two."""
        version = Version(release)
        return not ((self.first and version < Version(self.first)) or (self.last and version > Version(self.last)))


class KnownReleases(Record):
    """The releases that an index has.

    Attributes:
        package: that it was asked for. ``allowed``: the versions of it that the adapter allows.
        published: all of them, the oldest first.
    """

    package: str = ""
    allowed: str = ""
    published: tuple[PublishedRelease, ...] = ()

    def within(self, wanted: Wanted) -> list[PublishedRelease]:
        """Return those in a range that the adapter allows, pre-releases and withdrawn ones too."""
        allowed = SpecifierSet(self.allowed)
        found = [one for one in self.published if wanted.includes(one.version)]
        return [one for one in found if allowed.contains(one.version, prereleases=True)]

    def beyond(self, wanted: Wanted) -> list[str]:
        """Return the versions in a range that are newer than all that the adapter allows."""
        allowed = SpecifierSet(self.allowed)
        usable = [one.version for one in reversed(self.published) if one.usable and wanted.includes(one.version)]
        return [*takewhile(lambda version: not allowed.contains(version), usable)][::-1]


def choose(known: KnownReleases, wanted: Wanted) -> list[PublishedRelease]:
    """Return the releases to measure, the oldest first; the oldest and the newest of the range are always among them.

    Pre-releases and withdrawn ones are not. Raises UsageError if none is in the range.
    """
    # Newer ones are compared with the first whatever has become of it, such as withdrawn.
    basis = wanted.first if wanted.newer else ""
    found = [one for one in known.within(wanted) if one.usable or one.version == basis]
    if not found and not wanted.newer:
        raise UsageError(
            f"no release is between {wanted.first or 'the oldest'} and {wanted.last or 'the newest'} that the adapter "
            f"allows ({known.allowed or 'any'}); the index has {len(known.published)} releases"
        )
    if not 1 < wanted.most < len(found):
        return found[-1:] if wanted.most == 1 else found
    step = (len(found) - 1) / (wanted.most - 1)
    return [found[place] for place in sorted({round(number * step) for number in range(wanted.most)})]


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
    found: dict[Version, list[dict[str, Any]]] = {}
    for file in _files(page):
        name = str(file.get("filename", ""))[:LONGEST]
        # Names of wheels, of source archives, and the versions in them may be wrong; all of these are ValueError.
        with suppress(ValueError):
            owner, version = (parse_wheel_filename if name.endswith(".whl") else parse_sdist_filename)(name)[:2]
            if owner == canonicalize_name(package):
                found.setdefault(version, []).append(file)
    return [_release(str(version), files) for version, files in sorted(found.items())]


def _release(version: str, files: list[dict[str, Any]]) -> PublishedRelease:
    times = sorted(str(file["upload-time"]) for file in files if file.get("upload-time"))
    published, reasons = None, [file.get("yanked", False) for file in files]
    with suppress(ValueError, IndexError):
        published = datetime.fromisoformat(times[0])
    reason = next((one_line(reason, LONGEST) for reason in reasons if isinstance(reason, str) and reason), "")
    withdrawal = f"{version} ({reason})" if reason else version
    is_withdrawn = all(reason is not False and reason is not None for reason in reasons)
    return PublishedRelease(version=version, published=published, withdrawal=withdrawal if is_withdrawn else "")


def _files(page: bytes) -> Sequence[dict[str, Any]]:
    """Return the files of a page, which is JSON or HTML."""
    if not page.lstrip().startswith(b"{"):
        reader = _Links()
        reader.feed(page.decode(errors="replace"))
        return reader.files
    try:
        files = json.loads(page).get("files")
    except (ValueError, RecursionError) as error:
        raise DataError(f"the index's page is not JSON: {error}") from error
    return [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []


class _Links(HTMLParser):
    """The links of an HTML page, as JSON has its files."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read a link."""
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            name = urlsplit(given["href"] or "").path.rpartition("/")[2]
            yanked = "data-yanked" in given and (given["data-yanked"] or True)
            self.files.append({"filename": name, "yanked": yanked})
