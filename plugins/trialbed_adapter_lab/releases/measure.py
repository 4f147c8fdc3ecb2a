"""One release, measured by the kit in its own environment."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import trialbed.wire
import trialbed_scripted
import trialbed_server
from trialbed.cli._build_progress import build_progress
from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    InstalledEnvironment,
    expand_profiles,
    hold_file,
    profiles_of,
    provide,
    requirement_folder,
)
from trialbed.errors import EnvironmentFailed
from trialbed.records import PIN
from trialbed_adapter_lab.fidelity.report import MeasuredAdapter, measure
from trialbed_adapter_lab.kit_process import show_line
from trialbed_adapter_lab.releases.folder import MeasuredRelease, ReleaseFolder
from trialbed_adapter_lab.releases.index import PublishedRelease
from trialbed_adapter_lab.report_command import show_steps

TEMPORARY = ".releases"
"""The folder within that of all environments for those that are removed again, so that nobody else can use one."""

LAB = Path(__file__).parents[1]
KIT = ("_kit.py", "differences.py", "harness", "probe.py", "probes")
"""The code of the lab that measures; the code that shows figures is not part of it."""


@dataclass(frozen=True, kw_only=True)
class ReleaseMeasurement:
    """The settings of a measurement of releases.

    Attributes:
        profiles: those that are measured, as far as its adapter has them.
        themes: of the probes.
        adapter: the requirement that installs the adapter; empty for the usual one.
    """

    framework: str
    profiles: tuple[str, ...]
    themes: tuple[str, ...]
    store: EnvironmentStore
    adapter: str = ""

    @cached_property
    def kit(self) -> str:
        """SHA-256 over the code that measures with the server, the scripted models, the adapter and the themes.

        Of an adapter that does not come from a folder, its requirement counts.
        """
        digest = hashlib.sha256(f"{version('trialbed')} {' '.join(self.themes)}".encode())
        packages = (Path(package.__path__[0]) for package in (trialbed.wire, trialbed_scripted, trialbed_server))
        places = [*(LAB / name for name in KIT), *packages]
        line = BuildRequest(FrameworkSpec.parse(self.framework), self.adapter).requirements[1]
        if folder := requirement_folder(line):
            places.append(folder / "src" if (folder / "src").is_dir() else folder)
        else:
            digest.update(line.encode())
        for place in places:
            for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
                digest.update(f"{place.name}/{file.relative_to(place).as_posix()}\0".encode() + file.read_bytes())
        return digest.hexdigest()


async def measure_releases(
    how: ReleaseMeasurement, releases: Sequence[PublishedRelease], folder: ReleaseFolder
) -> list[MeasuredRelease]:
    """Measure releases and keep each; return the records, also of those that another command measured meanwhile."""
    found = []
    for number, published in enumerate(releases, 1):
        name = f"{how.framework} {published.version} ({number} of {len(releases)})"
        mutex = how.store.folder / f".releases-{how.framework}.lock"
        async with hold_file(mutex, partial(show_line, f"{name}: waits for another command")):
            measured = folder.find(published.version, how.kit)
            if measured is None:
                show_line(f"{name}: its environment, then the probes")
                measured, lock = await measure_release(how, published)
                folder.keep(measured, lock)
        missing = "".join(f", without {one.label}" for one in measured.figures if one.report is None)
        show_line(f"{name}: {measured.failure or f'measured{missing}'}")
        found.append(measured)
    return found


async def measure_release(how: ReleaseMeasurement, published: PublishedRelease) -> tuple[MeasuredRelease, str]:
    """Build the environment of a release and measure it; return the record, which may be a failure, and the lock.

    The caller sees to it that one release of a framework is measured at a time.
    """
    asked = f"{how.framework}{PIN}{published.version}"
    request = how.store.with_last_adapter(BuildRequest(FrameworkSpec.parse(asked), how.adapter))
    temporary = EnvironmentStore(how.store.folder / TEMPORARY / how.framework)
    _remove(temporary)  # one that was killed has left its own
    lock = ""
    try:
        with build_progress() as progress:
            store = how.store if how.store.find(request) is not None else temporary
            installed = (await provide(store, [request], progress))[request.framework.text]
        about, lock = installed.metadata, installed.lock
        found = {"packages": about.packages, "size": about.size, "lock_digest": about.lock_digest}
        found |= await _run_kit(how, asked, installed)
    except EnvironmentFailed as failure:
        found = {"failure": str(failure).splitlines()[0]}
    finally:
        _remove(temporary)
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


async def _run_kit(how: ReleaseMeasurement, asked: str, installed: InstalledEnvironment) -> dict[str, Any]:
    """Run the kit for each profile, and return the fields of the record that it gives."""
    there = profiles_of(how.framework, installed.environment)
    wanted = [profile for profile in how.profiles if profile in there]
    labels = expand_profiles([asked], wanted, {asked: installed.environment})
    found: dict[str, MeasuredAdapter] = {}
    with show_steps() as on_step:
        await measure(dict.fromkeys(labels, installed.environment), how.themes, found, on_step)
    reasons = "; ".join(dict.fromkeys(one.reason for one in found.values()))
    failure = "" if any(one.report for one in found.values()) else f"its adapter cannot be measured: {reasons}"
    return {"figures": tuple(found.values()), "failure": failure}


def _remove(store: EnvironmentStore) -> None:
    for installed in [*store]:
        store.remove(installed)
