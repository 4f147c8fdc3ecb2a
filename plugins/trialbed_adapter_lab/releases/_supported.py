"""The releases of its framework that an adapter allows, as its metadata say."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from trialbed.environments import BuildRequest, EnvironmentStore, Uv, adapter_needs, requirement_folder
from trialbed_adapter_lab.releases._index import published_releases
from trialbed_adapter_lab.releases._records import KnownReleases


async def known_releases(request: BuildRequest, store: EnvironmentStore) -> KnownReleases:
    """Return the releases of the framework's own package that the index has, and those that the adapter allows.

    Raises:
        EnvironmentFailed: the adapter cannot be looked at.
        DataError: the index cannot be asked, or does not have the package.
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
    return (await adapter_needs(Uv(store.folder, lambda: None), request)).requires


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
