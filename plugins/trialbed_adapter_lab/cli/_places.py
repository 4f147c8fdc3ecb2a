"""Find where the adapters of frameworks are installed, from metadata and records; imports none of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from trialbed.drivers import list_drivers
from trialbed.environments import (
    FIRST_PARTY,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
    profiles_of,
)
from trialbed.installed import Offer
from trialbed.records import framework_name

OWN = "trialbed"
Where = Literal["here", "environment", "absent"]


@dataclass(frozen=True)
class AdapterPlace:
    """A framework, and one place where its adapter is.

    Attributes:
        where: ``here`` is this interpreter, ``environment`` one of its own, ``absent`` nowhere yet.
        version: of the framework; empty where metadata have none.
        environment: the name of the framework's own environment.
        runs: the frameworks, as they are asked for with ``--framework``, that run in this environment.
        python: the interpreter that has the adapter.
        get: the command that gets an absent one.
        profiles: those that its adapter has; empty if it has none.
    """

    framework: str
    where: Where
    version: str = ""
    adapter: str = ""
    adapter_version: str = ""
    environment: str = ""
    runs: tuple[str, ...] = ()
    python: str = ""
    get: str = ""
    profiles: tuple[str, ...] = ()

    def as_row(self) -> tuple[str, ...]:
        """Return it for the table."""
        where = {"here": "with Trialbed", "environment": self.environment, "absent": "not installed"}[self.where]
        adapter = f"{self.adapter} {self.adapter_version}".strip()
        return self.framework, ", ".join(self.profiles), self.version, adapter, where


def places(store: EnvironmentStore) -> list[AdapterPlace]:
    """Return every framework that is installed here, has an environment of its own, or could have: one entry per place.

    Of the environments, those that a run from here would use: what newer ones replaced, and what belongs to another
    installation of Trialbed, is listed by ``bench env list`` alone.
    """
    serving: dict[str, tuple[InstalledEnvironment, list[str]]] = {}
    for label, environment in store.serving():
        serving.setdefault(environment.name, (environment, []))[1].append(label)
    installed = {framework_name(driver.name): driver for driver in list_drivers("frameworks")}
    there = installed.keys() | {item.metadata.name for item, _ in serving.values()}
    found = [
        *(_here(name, driver) for name, driver in installed.items()),
        *(_own(item, sorted(labels)) for item, labels in serving.values()),
        *(AdapterPlace(name, "absent", get=f"bench env add {name}") for name in set(FIRST_PARTY) - there),
    ]
    return sorted(found, key=lambda place: (place.framework, place.where != "here", place.version))


def _here(name: str, driver: Offer) -> AdapterPlace:
    version, profiles = _version(driver), profiles_of(name)
    return AdapterPlace(
        name, "here", version, driver.distribution, driver.version, python=sys.executable, profiles=profiles
    )


def _version(driver: Offer) -> str:
    if driver.distribution == OWN:
        return driver.version
    try:
        return version(FrameworkSpec.parse(driver.name).packages[0])
    except PackageNotFoundError:
        return ""


def _own(installed: InstalledEnvironment, labels: Sequence[str]) -> AdapterPlace:
    metadata = installed.metadata
    versions = metadata.framework_version, metadata.adapter, metadata.adapter_version
    python, profiles = installed.environment.python, profiles_of(metadata.name, installed.environment)
    place = AdapterPlace(metadata.name, "environment", *versions, python=python, profiles=profiles)
    return replace(place, environment=installed.name, runs=tuple(labels))
