"""The files of a worker's interpreter and its packages, including files that it must not see."""

from __future__ import annotations

import json
import os
import re
import site
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from trialbed.drivers import GROUPS
from trialbed.environments import linked_folders, mapped_modules

GOLD = (GROUPS["datasets"], GROUPS["simulators"])
"""The groups of entry points that may lead to answers of queries."""

ASK = """
import json, os, sys
places = [os.path.realpath(sys.executable), sys.base_prefix, sys.base_exec_prefix, os.path.realpath(os.__file__)]
print(json.dumps(places))
"""

_EDITABLE = re.compile(r"^-e (file:\S+)$", re.MULTILINE)
SYSTEM_PACKAGES = ("/usr/lib/python3*", "/usr/local/lib/python3*")


@dataclass(frozen=True)
class Interpreter:
    """An interpreter with its packages.

    Attributes:
        readable: files and folders that it needs to read.
        listed: further folders that it needs to list.
        hidden: files that a worker must not see: the packages of datasets, and packages of other interpreters.
        needed: files without which it would not run, or would run as another interpreter, and editable packages.
    """

    readable: tuple[Path, ...]
    listed: tuple[Path, ...]
    hidden: tuple[Path, ...]
    needed: tuple[Path, ...]


def own_interpreter(python_path: str = "") -> Interpreter:
    """Return this process's interpreter, including entries on its path outside its packages.

    Args:
        python_path: the worker's ``PYTHONPATH``.
    """
    return _own(sys.prefix, python_path)


@cache
def environment_interpreter(python: str, lock: str = "") -> Interpreter:
    """Return the interpreter of a framework's own environment.

    The environment's packages are not trusted, so their links to other folders are ignored. The exception is packages
    that the lock lists as editable, since the user asked for these.
    """
    folder = Path(python).parent.parent
    packages = [found.resolve() for found in sorted(folder.glob("lib*/python3*/site-packages"))]
    editable = [Path(url2pathname(urlsplit(url).path)).resolve() for url in _EDITABLE.findall(lock)]
    sources = [source for site in packages for source in linked_folders(site) if _is_in(source, editable)]
    modules = {name: path for name, path in mapped_modules(packages).items() if _is_in(path, editable)}
    return _interpreter(python, [folder], packages, sources, modules)


@cache
def _own(prefix: str, python_path: str) -> Interpreter:
    packages = [Path(entry) for entry in site.getsitepackages([prefix])]
    if _shares_system_packages(Path(prefix)):
        packages += [Path(entry) for entry in site.getsitepackages([sys.base_prefix])]
    if site.ENABLE_USER_SITE:
        packages.append(Path(site.getusersitepackages()))
    packages = [folder.resolve() for folder in packages if folder.is_dir()]
    sources = [Path(entry).resolve() for entry in python_path.split(os.pathsep) if entry]
    linked = (folder for site in packages for folder in linked_folders(site))
    sources += [folder for folder in linked if not _is_in(folder, [Path(prefix)])]
    return _interpreter(sys.executable, [Path(prefix), *packages], packages, sources, mapped_modules(packages))


def _interpreter(
    python: str, folders: Iterable[Path], packages: list[Path], sources: list[Path], modules: dict[str, Path]
) -> Interpreter:
    """Describe an interpreter.

    Args:
        folders: its own folders.
        packages: the folders of its packages, all within ``folders``.
        sources: folders on its path that contain packages which were not copied.
        modules: the paths of modules outside its path.
    """
    executable, prefix, exec_prefix, library = _base(python)
    base = [Path(executable), Path(prefix), Path(exec_prefix)]
    others = [folder for folder in _packages_of_bases(base[1:]) if not _is_in(folder, packages)]
    shown = [child for folder in sources for child in _visible(folder)]
    gold = _gold([*packages, *sources], modules) - set(packages)
    settings = Path(python).parent.parent / "pyvenv.cfg"
    packages_elsewhere = [path for path in modules.values() if path.exists() and not _is_in(path, gold)]
    needed = [Path(executable), Path(library), *([settings] if settings.exists() else []), *packages_elsewhere]
    return Interpreter(
        readable=tuple(dict.fromkeys(path.resolve() for path in [*base, *folders, *shown, *modules.values()])),
        # Folders are listed, and archives are read as a whole.
        listed=tuple(folder for folder in dict.fromkeys(sources) if folder.is_dir()),
        hidden=tuple(dict.fromkeys([*others, *gold])),
        needed=tuple(needed),
    )


@cache
def _base(python: str) -> tuple[str, ...]:
    # Load neither packages nor .pth files, since the sandbox may be meant for their code.
    done = subprocess.run([python, "-I", "-S", "-c", ASK], capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout))


def _packages_of_bases(prefixes: Iterable[Path]) -> Iterator[Path]:
    for prefix in dict.fromkeys(prefixes):
        yield from prefix.glob("lib*/python3*/*-packages")
    for pattern in SYSTEM_PACKAGES:
        yield from Path("/").glob(f"{pattern[1:]}/*-packages")


def _shares_system_packages(prefix: Path) -> bool:
    try:
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^include-system-site-packages\s*=\s*true", text, re.MULTILINE | re.IGNORECASE) is not None


def _visible(folder: Path) -> Iterator[Path]:
    """Yield the entries of a source folder, which may be a project's, without hidden ones."""
    if folder.is_dir():
        yield from (child for child in sorted(folder.iterdir()) if not child.name.startswith("."))
    elif folder.exists():
        yield folder


def _gold(roots: Iterable[Path], modules: dict[str, Path]) -> set[Path]:
    """Return the modules of datasets, or their packages if no adapter is in them too."""
    roots = [*roots]
    found = [point for dist in distributions(path=[*map(str, roots)]) for point in dist.entry_points]
    agents = [point.module for point in found if point.group == GROUPS["frameworks"]]
    hidden: set[Path] = set()
    for point in found:
        if point.group in GOLD:
            hidden |= set(_locate(_hidden_module(point, agents), roots, modules))
    return hidden


def _hidden_module(point: EntryPoint, agents: Iterable[str]) -> str:
    package = point.module.rpartition(".")[0]
    if not package or any(f"{agent}.".startswith(f"{package}.") for agent in agents):
        return point.module
    return package


def _locate(module: str, roots: Iterable[Path], modules: dict[str, Path]) -> Iterator[Path]:
    first, *rest = module.split(".")
    starts = [root / first for root in roots]
    if first in modules:
        starts.append(modules[first])
    for start in starts:
        place = start.joinpath(*rest)
        yield from (path for path in (place, place.with_name(f"{place.name}.py")) if path.exists())


def _is_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
