"""The digest of an adapter's code and of the packages that it runs with; nothing of it is imported."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distributions
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from trialbed.drivers import GROUPS
from trialbed.environments._frameworks import OWN
from trialbed.environments._installed import package_folders
from trialbed.environments._requirements import installed_distribution
from trialbed.installed import offers
from trialbed.records import Environment, framework_driver

SKIPPED = ("__pycache__", ".egg-info", ".dist-info")
"""Ends of folders' names that hold no code of the adapter."""

_FINDER = re.compile(r"^MAPPING[^=]*= (\{.*\})$", re.MULTILINE)
"""Setuptools writes the folders of an editable install here."""


def adapter_digest(framework: str, environment: Environment | None = None) -> str:
    """SHA-256 over the files of a framework's adapter, and over the versions of the packages that it runs with.

    It changes when a file of the adapter changes, also where it is installed as editable, and when another release of
    the framework or of a package that they need is installed.

    Args:
        environment: the framework's own; None for this interpreter.
    """
    found = _adapter(framework_driver(framework), environment)
    if found is None:
        return ""
    entry, adapter = found
    search = None if environment is None else _search_path(environment)
    lines = [f"{name} {_file_digest(path)}" for name, path in sorted(_files(entry, adapter, search))]
    lines += _versions(adapter) if environment is None else [f"lock {environment.lock_digest}"]
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def _adapter(name: str, environment: Environment | None) -> tuple[EntryPoint, Distribution] | None:
    """The adapter's entry point and its distribution."""
    group = GROUPS["frameworks"]
    if environment is None:
        found = next((offer for offer in offers(group) if offer.name == name), None)
        return found and (EntryPoint(name, found.target, group), installed_distribution(found.distribution))
    for installed in distributions(path=[str(place) for place in package_folders(environment.python)]):
        for entry in installed.entry_points:
            if (entry.group, entry.name) == (group, name):
                return entry, installed
    return None


def _search_path(environment: Environment) -> list[str]:
    """The folders in which the environment's interpreter looks for installed packages."""
    places: list[str] = []
    for site in package_folders(environment.python):
        places.append(str(site))
        for listing in sorted(site.glob("*.pth")):
            lines = (line.strip() for line in listing.read_text(encoding="utf-8", errors="replace").splitlines())
            places += [str(site / line) for line in lines if line and not line.startswith(("#", "import ", "import\t"))]
    return places


def _files(entry: EntryPoint, adapter: Distribution, search: Sequence[str] | None) -> Iterator[tuple[str, Path]]:
    """The files of the adapter's packages, each under a name that is the same wherever it is installed."""
    for module in _modules(entry, adapter):
        for place in _places(module, search):
            if place.is_dir():
                yield from ((f"{module}/{path.relative_to(place).as_posix()}", path) for path in _walk(place))
            elif place.is_file():
                yield f"{module}{place.suffix}", place


def _modules(entry: EntryPoint, adapter: Distribution) -> list[str]:
    """The modules that the distribution brings; of Trialbed itself only that of the framework."""
    if canonicalize_name(adapter.name) == OWN:
        return [entry.module]
    names = {point.module.partition(".")[0] for point in adapter.entry_points}
    names |= set((adapter.read_text("top_level.txt") or "").split())
    names |= {Path(file.parts[0]).stem for file in adapter.files or () if file.suffix == ".py"}
    return sorted(name for name in names if name.isidentifier() and not name.startswith("__editable__"))


def _places(module: str, search: Sequence[str] | None) -> list[Path]:
    """The folder or file of a module; several folders if it is spread over them."""
    spec = _spec(module, search)
    if spec is None:
        return [Path(place) for site in search or () for place in _mapped_folder(Path(site), module)]
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []


def _spec(module: str, search: Sequence[str] | None) -> ModuleSpec | None:
    if search is not None:
        return PathFinder.find_spec(module, list(search))
    with suppress(ImportError, ValueError):
        return find_spec(module)
    return None


def _mapped_folder(site: Path, module: str) -> Iterator[str]:
    """The folder of a package that is installed as editable by a finder of setuptools."""
    for finder in sorted(site.glob("__editable__*_finder.py")):
        match = _FINDER.search(finder.read_text(encoding="utf-8", errors="replace"))
        with suppress(ValueError, SyntaxError):
            mapping = ast.literal_eval(match[1]) if match else {}
            if module in mapping:
                yield mapping[module]


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and not name.endswith(SKIPPED)]
        yield from (Path(parent, name) for name in files if not name.startswith(".") and not name.endswith(".pyc"))


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _versions(adapter: Distribution) -> list[str]:
    """``name==version`` of the packages that the adapter needs and those that they need, sorted.

    Trialbed and its own requirements are left out: its version is part of a run's configuration.
    """
    known: dict[tuple[str, str], str] = {}
    waiting = [] if canonicalize_name(adapter.name) == OWN else list(_needs(adapter.requires or (), ""))
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in known or name == OWN:
            continue
        with suppress(PackageNotFoundError):
            package = installed_distribution(name)
            known[name, extra] = f"{name}=={package.version}"
            waiting += _needs(package.requires or (), extra)
    return [f"python=={sys.version.split()[0]}", *sorted(set(known.values()))]


def _needs(lines: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """The packages of requirements, and each of their extras apart."""
    for line in lines:
        with suppress(InvalidRequirement):
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield from ((canonicalize_name(needed.name), one) for one in ("", *sorted(needed.extras)))
