"""The releases of a package that an index has, read from its page of files (PEP 503 and 691)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from trialbed.errors import DataError, NothingMeasured
from trialbed.records import Record

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
        yanked: whether all of its files are withdrawn. ``yanked_reason``: the reason that is given; may be empty.
    """

    version: str
    published: datetime | None = None
    yanked: bool = False
    yanked_reason: str = ""

    @property
    def is_prerelease(self) -> bool:
        """Its version says that it comes before a release."""
        return Version(self.version).is_prerelease


def indexes() -> list[str]:
    """The indexes that uv's variables name, in the order in which uv asks them."""
    named = [*os.environ.get("UV_INDEX", "").split(), *os.environ.get("UV_EXTRA_INDEX_URL", "").split()]
    default = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or PYPI
    return [_url(entry) for entry in (*named, default)]


def _url(entry: str) -> str:
    """Return the address of an entry, which is ``URL`` or ``NAME=URL``."""
    return entry.partition("=")[2] if "=" in entry.partition("://")[0] else entry


def published_releases(package: str) -> list[PublishedRelease]:
    """Return the releases of a package, the oldest first, from the first index that has it.

    Raises:
        DataError: no index has it, or its page cannot be read.
        NothingMeasured: an index cannot be reached, or refuses.
    """
    with httpx.Client(timeout=SECONDS, follow_redirects=True, headers={"Accept": ACCEPT}) as client:
        for index in indexes():
            page = _page(client, index, package)
            if page is not None:
                return releases_on(page, package)
    hosts = ", ".join(urlsplit(index).hostname or index for index in indexes())
    raise DataError(f"{package}: no index has it (asked: {hosts}); UV_INDEX and UV_DEFAULT_INDEX name others")


def _page(client: httpx.Client, index: str, package: str) -> bytes | None:
    """Return the page of a package; None where the index has none."""
    host = urlsplit(index).hostname or "the index"
    try:
        with client.stream("GET", f"{index.rstrip('/')}/{canonicalize_name(package)}/") as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                return None
            response.raise_for_status()
            content = b""
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > LARGEST:
                    raise DataError(f"{host}: its page of {package} is longer than {LARGEST:,} bytes")
            return content
    except httpx.HTTPStatusError as error:
        raise NothingMeasured(f"{host} answers {error.response.status_code} for its page of {package}") from error
    except httpx.HTTPError as error:
        raise NothingMeasured(
            f"{host} cannot be asked for the releases of {package}: {type(error).__name__}"
        ) from error


def releases_on(page: bytes, package: str) -> list[PublishedRelease]:
    """Return the releases on a page of files, the oldest first; files that are not the package's do not count."""
    found: dict[Version, list[dict[str, Any]]] = {}
    for file in _files(page):
        version = _version(str(file.get("filename", "")), package)
        if version is not None:
            found.setdefault(version, []).append(file)
    return [_release(version, found[version]) for version in sorted(found)]


def _release(version: Version, files: list[dict[str, Any]]) -> PublishedRelease:
    times = sorted(str(file["upload-time"]) for file in files if file.get("upload-time"))
    reasons = [file.get("yanked", False) for file in files]
    yanked = all(reason is not False and reason is not None for reason in reasons)
    given = next((reason for reason in reasons if isinstance(reason, str) and reason), "") if yanked else ""
    return PublishedRelease(
        version=str(version), published=_time(times), yanked=yanked, yanked_reason=" ".join(given.split())[:LONGEST]
    )


def _time(times: Iterable[str]) -> datetime | None:
    for text in times:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            continue
    return None


def _files(page: bytes) -> Iterator[dict[str, Any]]:
    """Yield the files of a page, which is JSON or HTML."""
    if not page.lstrip().startswith(b"{"):
        reader = _Links()
        reader.feed(page.decode(errors="replace"))
        yield from reader.files
        return
    try:
        document = json.loads(page)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the index's page is not JSON: {error}") from error
    files = document.get("files")
    yield from (file for file in files if isinstance(file, dict)) if isinstance(files, list) else ()


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
            self.files.append(
                {"filename": name, "yanked": given["data-yanked"] or True if "data-yanked" in given else False}
            )


def _version(name: str, package: str) -> Version | None:
    """Return the version in a file's name; None if the file is not one of the package."""
    if len(name) > LONGEST:
        return None
    try:
        found = parse_wheel_filename(name)[:2] if name.endswith(".whl") else parse_sdist_filename(name)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return found[1] if found[0] == canonicalize_name(package) else None
