"""Lists what is installed in this interpreter: distributions, and what they offer to Trialbed.

To read the metadata of all distributions takes longer than most commands: each folder of them is read once, and again
when it has changed, as ``importlib.metadata`` does with the names of its files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, distributions
from typing import Any, NamedTuple

_HEADER = re.compile(r"^(Name|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_SEPARATORS = re.compile(r"[-_.]+")
_GROUPS = "trialbed."
"""How the names of all entry-point groups of Trialbed begin."""

_Places = tuple[tuple[str, int], ...]
"""The folders in which distributions are looked for, each with the time of its last change."""


class Offer(NamedTuple):
    """An entry point for Trialbed, as the metadata of its distribution have it; nothing was imported to find it."""

    group: str
    name: str
    target: str
    distribution: str
    version: str

    def load(self) -> Any:
        """Import what it names."""
        return EntryPoint(self.name, self.target, self.group).load()


def offers(group: str) -> list[Offer]:
    """The entry points of a group; of a distribution that is there twice, those of the one that is found first."""
    return [offer for offer in _offers(_places()) if offer.group == group]


def installed_packages() -> tuple[str, ...]:
    """``name==version`` of every distribution in this interpreter, sorted."""
    return tuple(sorted({package for place in _places() for package in _packages(*place)}))


def _places() -> _Places:
    """The state that changes when something is installed or removed; `importlib.metadata` looks at the same."""
    found = {}
    for folder in map(os.path.abspath, sys.path):
        with suppress(OSError):
            found[folder] = os.stat(folder).st_mtime_ns
    return tuple(found.items())


@lru_cache(maxsize=1)
def _offers(places: _Places) -> tuple[Offer, ...]:
    found: dict[object, Distribution] = {}
    for item in (item for place in places for item in _offering(*place)):
        name, _ = _named(item)
        found.setdefault(_SEPARATORS.sub("-", name).lower() or item, item)
    return tuple(offer for item in found.values() for offer in _offered(_first(item)))


def _first(item: Distribution) -> Distribution:
    """The distribution of the same name that is found first, which may have no entry points."""
    name, _ = _named(item)
    with suppress(PackageNotFoundError):
        return distribution(name) if name else item
    return item


def _offered(item: Distribution) -> Iterator[Offer]:
    name, version = _named(item)
    for entry in item.entry_points:
        if entry.group.startswith(_GROUPS):
            yield Offer(entry.group, entry.name, entry.value, name or "?", version or "?")


@lru_cache(maxsize=64)
def _offering(folder: str, _changed: int) -> tuple[Distribution, ...]:
    """The distributions in a folder that have entry points for Trialbed."""
    return tuple(item for item in distributions(path=[folder]) if _GROUPS in (item.read_text("entry_points.txt") or ""))


@lru_cache(maxsize=64)
def _packages(folder: str, _changed: int) -> tuple[str, ...]:
    named = map(_named, distributions(path=[folder]))
    return tuple(f"{name.lower()}=={version}" for name, version in named if name)


def _named(item: Distribution) -> tuple[str, str]:
    """The name and the version; both are empty where the metadata have none."""
    # A parser of mail, which is what `distribution.name` uses, takes ten times as long.
    text = item.read_text("METADATA") or item.read_text("PKG-INFO") or item.read_text("")
    found = dict(reversed(_HEADER.findall((text or "").partition("\n\n")[0])))
    return found.get("Name", ""), found.get("Version", "")
