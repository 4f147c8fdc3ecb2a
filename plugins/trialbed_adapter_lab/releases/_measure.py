"""One release, measured in an environment of its own."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import Any

from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
    ShowStep,
    expand_profiles,
    hold_file,
    profiles_of,
    provide,
)
from trialbed.errors import EnvironmentFailed, TrialbedError
from trialbed.records import PIN
from trialbed_adapter_lab.fidelity import FidelityOptions, OnStep, measure
from trialbed_adapter_lab.releases._folder import ReleaseFolder
from trialbed_adapter_lab.releases._index import PublishedRelease
from trialbed_adapter_lab.releases._records import MeasuredRelease
from trialbed_adapter_lab.releases._requests import measure_requests
from trialbed_adapter_lab.report_command import Part

TEMPORARY = ".releases"
"""The folder within that of all environments for those that are removed again, so that nobody else can use one."""


@dataclass(frozen=True, kw_only=True)
class ReleaseMeasurement:
    """The settings of a measurement of releases.

    Attributes:
        profiles: those that are measured, as far as its adapter has them.
        parts: of ``bench fidelity``; none of them has times.
        adapter: the requirement that installs the adapter; empty for the usual one.
    """

    framework: str
    profiles: tuple[str, ...]
    parts: tuple[Part, ...]
    kit: str
    store: EnvironmentStore
    adapter: str = ""

    @property
    def temporary(self) -> EnvironmentStore:
        """The environments that are removed again."""
        return EnvironmentStore(self.store.folder / TEMPORARY / self.framework)


async def measure_release(
    how: ReleaseMeasurement, published: PublishedRelease, steps: ShowStep, on_step: OnStep
) -> tuple[MeasuredRelease, str]:
    """Build the release's environment and measure it; return the record and the lock.

    An environment that cannot be built, and an adapter that cannot be loaded in it, are findings with a reason. The
    caller sees to it that one release of a framework is measured at a time.
    """
    asked = f"{how.framework}{PIN}{published.version}"
    request = how.store.with_last_adapter(BuildRequest(FrameworkSpec.parse(asked), how.adapter))
    store = how.store if how.store.find(request) is not None else how.temporary
    _remove(how.temporary)  # one that was killed has left its own
    try:
        installed = (await provide(store, [request], steps))[request.framework.text]
    except EnvironmentFailed as failure:
        return _record(how, published, failure=str(failure).splitlines()[0]), ""
    try:
        found = await _measure(how, asked, installed, on_step)
    finally:
        _remove(how.temporary)
    about = installed.metadata
    measured = _record(how, published, packages=about.packages, size=about.size, lock_digest=about.lock_digest, **found)
    return measured, installed.lock


def _remove(store: EnvironmentStore) -> None:
    for installed in [*store]:
        store.remove(installed, force=True)


async def _measure(
    how: ReleaseMeasurement, asked: str, installed: InstalledEnvironment, on_step: OnStep
) -> dict[str, Any]:
    environment = installed.environment
    there = profiles_of(how.framework, environment)
    wanted = [profile for profile in how.profiles if profile in there]
    labels = tuple(expand_profiles([asked], wanted, {asked: environment}))
    environments = dict.fromkeys(labels, environment)
    options = FidelityOptions(frameworks=labels, parts=how.parts, environments=environments, baseline=False)
    try:
        report = await measure(options, on_step)
        reasons = [one.reason for found in report.frameworks for one in found.missing if not one.part]
        if len(reasons) == len(labels):
            return {"failure": f"its adapter cannot be loaded: {reasons[0]}"}
        on_step(f"{asked}: requests")
        return {"figures": report.frameworks, "requests": await measure_requests(labels, environments)}
    except TrialbedError as error:
        return {"failure": str(error)}


def _record(how: ReleaseMeasurement, published: PublishedRelease, **found: Any) -> MeasuredRelease:
    return MeasuredRelease(
        framework=how.framework,
        release=published.version,
        published=published.published,
        kit=how.kit,
        measured_at=datetime.now(UTC),
        trialbed=version("trialbed"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        **found,
    )


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Shows the work to the user.

    Attributes:
        line: called with a line that stays. ``step``: with a text that the next one replaces.
        building: shows the build of an environment.
    """

    line: Callable[[str], None]
    step: Callable[[str], None]
    building: Callable[[], AbstractContextManager[ShowStep]]


async def measure_releases(
    how: ReleaseMeasurement, releases: list[PublishedRelease], folder: ReleaseFolder, progress: Progress
) -> list[MeasuredRelease]:
    """Measure releases and keep each; return the records, also of those that another command measured meanwhile."""
    began, found = datetime.now(UTC), []
    for number, published in enumerate(releases, 1):
        name = f"{how.framework} {published.version} ({number} of {len(releases)})"
        mutex, wait = how.store.folder / f".releases-{how.framework}.lock", f"{name}: waits for another command"
        async with hold_file(mutex, partial(progress.line, wait)):
            measured = folder.find(published.version, how.kit)
            if measured is None or measured.measured_at < began:
                progress.line(f"{name}: its environment, then {', '.join(how.parts)} and requests")
                with progress.building() as steps:
                    measured, lock = await measure_release(how, published, steps, progress.step)
                folder.keep(measured, lock)
        progress.line(f"{name}: {measured.failure or _brief(measured)}")
        found.append(measured)
    return found


def _brief(measured: MeasuredRelease) -> str:
    missing = [f"{one.framework}: {gap.part}" for one in measured.figures for gap in one.missing]
    return f"measured{', without ' + ', '.join(missing) if missing else ''}"
