"""Find where the adapters of frameworks are installed, from metadata and records; imports none of them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from trialbed.drivers import DriverInfo, list_drivers
from trialbed.environments import (
    FIRST_PARTY,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
    known_profiles,
    profiles_of,
)
from trialbed.records import FrameworkInfo, framework_name, with_profile
from trialbed.worker import WORKER_MARK, worker_environment

OWN = "trialbed"
Where = Literal["here", "environment", "absent"]
DESCRIBE = "import sys; from trialbed.worker import load_agent; print(load_agent(sys.argv[1])[1].model_dump_json())"
LOADING = 120.0
"""Seconds that an adapter may take to load."""


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
        deviations: the adapter's, each with its profile; None if it was not loaded.
        problem: why it cannot be loaded; empty if it can, or was not loaded.
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
    deviations: tuple[dict[str, str], ...] | None = None
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        return asdict(self)

    def as_row(self) -> tuple[str, ...]:
        """Return it for the table."""
        where = {"here": "with Trialbed", "environment": self.environment, "absent": "not installed"}[self.where]
        declared = "" if self.deviations is None else str(len(self.deviations))
        adapter = f"{self.adapter} {self.adapter_version}".strip()
        profiles = ", ".join(self.profiles)
        return self.framework, profiles, self.version, adapter, where, "broken" if self.problem else declared


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
        *map(_absent, set(FIRST_PARTY) - there),
    ]
    return sorted(found, key=lambda place: (place.framework, place.where != "here", place.version))


def with_deviations(found: Iterable[AdapterPlace]) -> Iterator[AdapterPlace]:
    """Add the deviations that each adapter declares: each is loaded, in a process of its own."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(_describe, found)


def _here(name: str, driver: DriverInfo) -> AdapterPlace:
    version, profiles = _version(driver), profiles_of(name)
    return AdapterPlace(
        name, "here", version, driver.distribution, driver.version, python=sys.executable, profiles=profiles
    )


def _version(driver: DriverInfo) -> str:
    if driver.distribution == OWN:
        return driver.version
    try:
        return version(FrameworkSpec.parse(driver.name).packages[0])
    except PackageNotFoundError:
        return ""


def _own(installed: InstalledEnvironment, labels: Sequence[str]) -> AdapterPlace:
    metadata = installed.metadata
    return AdapterPlace(
        metadata.name,
        "environment",
        metadata.framework_version,
        metadata.adapter,
        metadata.adapter_version,
        environment=installed.name,
        runs=tuple(labels),
        python=installed.environment.python,
        profiles=profiles_of(metadata.name, installed.environment),
    )


def _absent(name: str) -> AdapterPlace:
    return AdapterPlace(name, "absent", get=f"bench env add {name}", profiles=known_profiles(name))


def _describe(place: AdapterPlace) -> AdapterPlace:
    if place.where == "absent":
        return place
    declared: list[dict[str, str]] = []
    for profile in place.profiles or ("",):
        name = with_profile(place.framework, profile) if profile else place.framework
        info = _info(name, place)
        if isinstance(info, str):
            return replace(place, problem=info)
        place = replace(place, version=info.version)
        declared += [deviation.model_dump() | {"profile": profile} for deviation in info.deviations]
    return replace(place, deviations=tuple(declared))


def _info(name: str, place: AdapterPlace) -> FrameworkInfo | str:
    """Load an adapter in a process of its own and return its description, or the reason why it cannot be loaded."""
    command = [place.python, "-P", "-c", DESCRIBE, name]
    variables = worker_environment("list", own_packages=place.where == "environment")
    variables.pop(WORKER_MARK)
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, errors="replace", timeout=LOADING, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it did not load within {LOADING:.0f} seconds"
    if done.returncode != 0:
        reason = re.sub(r"^trialbed\.errors\.\w+: ", "", _last_line(done.stderr))
        return reason or f"loading it ended with exit code {done.returncode}"
    return FrameworkInfo.model_validate_json(_last_line(done.stdout))


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
