"""Lists the distributions that this interpreter has, and their entry points for Trialbed.

To read the metadata of all distributions takes longer than most commands, and to import ``importlib.metadata`` longer
than the rest of the help on all commands: folders of distributions are read here, each once, and again when it has
changed.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import cache, lru_cache, reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_HEADER = re.compile(r"^(Name|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_SEPARATORS = re.compile(r"[-_.]+")
PLUGINS = "plugins"
"""The kind of offer that plugins are."""

PROJECT_DISTRIBUTION = "trialbed"

_GROUPS = "trialbed."
"""How the names of all entry-point groups of Trialbed begin."""

_Places = tuple[tuple[str, int], ...]
"""The folders on the search path for distributions, each with the time of its last change."""


class Offer(NamedTuple):
    """An entry point for Trialbed, as the metadata of its distribution have it; nothing was imported to find it."""

    kind: str
    name: str
    target: str
    distribution: str
    version: str


def load_target(target: str) -> Any:
    """Import the target of an entry point: ``module``, or ``module:name``."""
    module, _, names = target.partition("[")[0].partition(":")
    return reduce(getattr, names.strip().split(".") if names.strip() else (), import_module(module.strip()))


class _Metadata(NamedTuple):
    """A distribution in a folder, by the folder or file of its metadata."""

    path: str

    def read_text(self, filename: str) -> str | None:
        """Return the text of a metadata file, or None without such a file. The empty name is the metadata itself."""
        try:
            with open(os.path.join(self.path, filename) if filename else self.path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError):
            return None


def offers(kind: str) -> list[Offer]:
    """Return the entry points of the group ``trialbed.KIND``.

    If a distribution is there twice, the one found first counts.
    """
    return [offer for offer in _offers(_places()) if offer.kind == kind]


@cache
def own_version() -> str:
    """Return the version of Trialbed at the time this process first asked for it."""
    from importlib.metadata import version

    return version("trialbed")


def extra_command(extra: str) -> str:
    """Return the command that installs an extra of Trialbed, from its checkout if it was installed from one."""
    import json
    import shlex
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    origin = json.loads(distribution("trialbed").read_text("direct_url.json") or "{}")
    if "dir_info" not in origin:
        return f"pip install {shlex.quote(f'trialbed[{extra}]')}"
    checkout = url2pathname(urlsplit(origin["url"]).path)
    editable = "-e " if origin["dir_info"].get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{checkout}[{extra}]')}"


def installed_packages() -> tuple[str, ...]:
    """``name==version`` of every distribution in this interpreter, sorted."""
    return _packages(_places())


@lru_cache(maxsize=1)
def _packages(places: _Places) -> tuple[str, ...]:
    found = (_identify(item) for place in places for _, item in _distributions(*place))
    return tuple(sorted({f"{name.lower()}=={version}" for name, version in found if name}))


def _places() -> _Places:
    """Return a state that changes when something is installed or removed, like in `importlib.metadata`."""
    found = {}
    for entry in sys.path:
        folder = entry if os.path.isabs(entry) else os.path.abspath(entry)
        with suppress(OSError):
            found[folder] = os.stat(folder).st_mtime_ns
    return tuple(found.items())


@lru_cache(maxsize=1)
def _offers(places: _Places) -> tuple[Offer, ...]:
    installed = [pair for place in places for pair in _distributions(*place)]
    # The distribution of a name that is found first counts, which may have no entry points.
    first: dict[object, _Metadata | Distribution] = dict(reversed(installed))
    offering = (item for _, item in installed if _GROUPS in (item.read_text("entry_points.txt") or ""))
    found: dict[object, _Metadata | Distribution] = {}
    for item in offering:
        found.setdefault(_key(_identify(item)[0]) or item, item)
    read: list[Offer] = []
    for item in (first.get(key, item) for key, item in found.items()):
        distribution, version = _identify(item)
        group = ""
        for line in map(str.strip, (item.read_text("entry_points.txt") or "").splitlines()):
            if line.startswith("[") and line.endswith("]"):
                group = line[1:-1]
            elif group.startswith(_GROUPS) and "=" in line and not line.startswith("#"):
                name, target = map(str.strip, line.split("=", 1))
                read.append(Offer(group.removeprefix(_GROUPS), name, target, distribution or "?", version or "?"))
    return tuple(read)


@lru_cache(maxsize=64)
def _distributions(folder: str, _changed: int) -> tuple[tuple[str, _Metadata | Distribution], ...]:
    """Return the distributions in a folder, each with the spelling of its name in file names."""
    if folder.endswith(".egg") or not os.path.isdir(folder):
        from importlib.metadata import distributions  # it reads archives too

        return tuple((_key(_identify(item)[0]), item) for item in distributions(path=[folder]))
    with suppress(OSError):
        names = (name for name in os.listdir(folder) if name.lower().endswith((".dist-info", ".egg-info")))
        return tuple(
            (_key(name.rpartition(".")[0].partition("-")[0]), _Metadata(os.path.join(folder, name))) for name in names
        )
    return ()


def _key(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def _identify(item: _Metadata | Distribution) -> tuple[str, str]:
    """Return the name and the version, which are empty if the metadata lack them."""
    # A parser of mail, which is what `distribution.name` uses, takes ten times as long.
    text = item.read_text("METADATA") or item.read_text("PKG-INFO") or item.read_text("")
    found = dict(reversed(_HEADER.findall((text or "").partition("\n\n")[0])))
    return found.get("Name", ""), found.get("Version", "")
