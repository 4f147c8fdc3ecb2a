"""One release, measured in an environment of its own."""

from __future__ import annotations

import hashlib
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
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
    requirement_folder,
)
from trialbed.errors import EnvironmentFailed, TrialbedError
from trialbed.records import PIN, Environment, Json
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity import FidelityOptions, OnStep, measure
from trialbed_adapter_lab.fidelity.reading import body, messages
from trialbed_adapter_lab.harness import WorkerHarness, open_worker_harness, stations
from trialbed_adapter_lab.releases.folder import Figure, MeasuredRelease, ReleaseFolder, SentRequests
from trialbed_adapter_lab.releases.index import PublishedRelease
from trialbed_adapter_lab.report_command import Part

TEMPORARY = ".releases"
"""The folder within that of all environments for those that are removed again, so that nobody else can use one."""

TOOLS, CALLS = 4, 3
"""On offer, and called one per turn; an answer follows."""

TRIALS = 5
"""Trials whose processor time is measured, after a first one that is not."""

CONVERSATIONS = ("messages", "input", "instructions", "system")
"""Fields of a request that are its conversation, in one dialect or another."""

LAB = ("differences.py", "harness", "fidelity/reading.py", "fidelity/traffic.py", "fidelity/behaviour.py")
"""The code of ``trialbed_adapter_lab`` that measures, with this file; that which shows figures is not among it."""


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
        gaps = ", ".join(f"{one.framework}: {gap.part}" for one in measured.figures for gap in one.missing)
        progress.line(f"{name}: {measured.failure or 'measured'}{gaps and f', without {gaps}'}")
        found.append(measured)
    return found


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
    lock = ""
    try:
        installed = (await provide(store, [request], steps))[request.framework.text]
        about, lock = installed.metadata, installed.lock
        found = await _measure(how, asked, installed, on_step)
        found |= {"packages": about.packages, "size": about.size, "lock_digest": about.lock_digest}
    except EnvironmentFailed as failure:
        found = {"failure": str(failure).splitlines()[0]}
    finally:
        _remove(how.temporary)
    measured = MeasuredRelease(
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
    return measured, lock


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


async def measure_requests(labels: Sequence[str], environments: Mapping[str, Environment]) -> tuple[SentRequests, ...]:
    """Run the same trial with each label, and keep its requests.

    Raises:
        NothingMeasured: the server does not start.
    """
    async with open_worker_harness(environments) as (harness, workers), workers:
        return tuple([await _requests(replace(harness, framework=label)) for label in labels])


async def _requests(harness: WorkerHarness) -> SentRequests:
    label = harness.framework
    try:
        seen = (await harness.run(stations(TOOLS, CALLS))).require_success()
        again = [await harness.run(stations(TOOLS, CALLS)) for _ in range(TRIALS)]
        bodies = tuple(_comparable(body(request)) for request in seen.requests)
    except (NotMeasured, TrialbedError) as error:
        return SentRequests(framework=label, reason=str(error))
    times = [round(one.outcome.cpu_time * 1000, 3) for one in again if one.outcome.cpu_time is not None]
    cpu = Figure(median=statistics.median(times), low=min(times), high=max(times), n=len(times)) if times else None
    return SentRequests(framework=label, bodies=bodies, cpu_ms=cpu)


def _comparable(request: Mapping[str, Any]) -> dict[str, Json]:
    """Return a request with its conversation first, in which ids are numbered."""
    others = {name: request[name] for name in sorted(request) if name not in CONVERSATIONS}
    return {"conversation": messages(request), **others}


def kit_digest(framework: str, parts: Sequence[str], adapter: str = "") -> str:
    """SHA-256 over the code that measures, the scripted models, the framework's adapter and the parts.

    Of an adapter that does not come from a folder, its requirement counts.

    Args:
        adapter: the requirement that installs it, where it is not the usual one.
    """
    digest = hashlib.sha256(f"{version('trialbed')} {' '.join(parts)}".encode())
    here, scripted = Path(__file__), find_spec("trialbed_scripted")
    sources = {name: here.parents[1] / name for name in LAB} | {"releases": here}
    if scripted is not None and scripted.origin is not None:
        sources["trialbed_scripted"] = Path(scripted.origin).parent
    line = BuildRequest(FrameworkSpec.parse(framework), adapter).requirements[1]
    if folder := requirement_folder(line):
        sources["adapter"] = folder / "src" if (folder / "src").is_dir() else folder
    else:
        digest.update(line.encode())
    for name, path in sources.items():
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(f"{name}/{file.relative_to(path).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
