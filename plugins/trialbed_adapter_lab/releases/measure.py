"""Releases, each measured by the kit in its own environment, and the folder in which they are kept."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.version import Version
from pydantic import ValidationError

import trialbed.wire
import trialbed_scripted
import trialbed_server
from trialbed.cli._build_progress import build_progress
from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    expand_profiles,
    hold_file,
    profiles_of,
    provide,
    requirement_folder,
)
from trialbed.errors import EnvironmentFailed
from trialbed.files import read_bytes, replace_file
from trialbed.records import PIN, Record
from trialbed_adapter_lab.fidelity.report import MeasuredAdapter, measure
from trialbed_adapter_lab.kit_process import show_line
from trialbed_adapter_lab.releases.index import PublishedRelease
from trialbed_adapter_lab.report_command import show_steps

TEMPORARY = ".releases"
"""The folder within that of all environments for those that are removed again, so that nobody else can use one."""

LAB = Path(__file__).parents[1]
KIT = ("_kit.py", "differences.py", "harness", "probe.py", "probes")
"""The code of the lab that measures; the code that shows figures is not part of it."""


class ReleaseConditions(Record):
    """A release, and the conditions under which it was measured.

    Attributes:
        published: the time of its first file on the index, if it says so.
        kit: the digest of the kit that measured it.
        trialbed, python, system: the versions and the machine.
        lock_digest: of the lock that is kept beside its record.
        size: bytes of its environment.
        failure: why nothing was measured; empty if it was.
    """

    release: str
    published: str = ""
    measured_at: datetime
    kit: str
    trialbed: str
    python: str
    system: str
    lock_digest: str = ""
    size: int = 0
    failure: str = ""


class MeasuredRelease(ReleaseConditions):
    """A release as it was measured.

    Attributes:
        packages: ``name==version`` of everything in its environment, sorted.
        figures: the kit's report on each profile, or the reason why there is none.
    """

    framework: str
    packages: tuple[str, ...] = ()
    figures: tuple[MeasuredAdapter, ...] = ()


class ReleaseFolder:
    """The measured releases of one framework: a record and a lock for each.

    A file that cannot be read, such as one of an earlier Trialbed, counts as absent.
    """

    def __init__(self, folder: Path, framework: str) -> None:
        self.framework = framework
        self.folder = folder / framework

    def __iter__(self) -> Iterator[MeasuredRelease]:
        """Every record, the oldest release first."""
        records = filter(None, map(self._read, self.folder.glob("*.json")))
        return iter(sorted(records, key=lambda record: Version(record.release)))

    def find(self, release: str, kit: str = "") -> MeasuredRelease | None:
        """Return the record of a release by this kit, by default by any; failures do not count."""
        found = self._read(self.folder / f"{release}.json")
        return found if found and not found.failure and kit in ("", found.kit) else None

    def keep(self, measured: MeasuredRelease, lock: str) -> None:
        """Write a record and its lock; of a release that was measured before, a failure replaces nothing."""
        if measured.failure and self.find(measured.release) is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if lock:
            replace_file(self.folder / f"{measured.release}.lock", lock.encode())
        record = measured.model_dump_json(exclude_defaults=True)
        replace_file(self.folder / f"{measured.release}.json", record.encode())

    def _read(self, path: Path) -> MeasuredRelease | None:
        try:
            return MeasuredRelease.model_validate_json(read_bytes(path))
        except (FileNotFoundError, ValidationError):
            return None


@dataclass(frozen=True, kw_only=True)
class ReleaseMeasurement:
    """The settings of a measurement of releases.

    Attributes:
        profiles: those that are measured, if the adapter has them.
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
    _remove_all(temporary)  # one that was killed has left its own
    found, lock, figures = dict[str, Any](), "", dict[str, MeasuredAdapter]()
    try:
        with build_progress() as progress:
            store = how.store if how.store.find(request) is not None else temporary
            installed = (await provide(store, [request], progress))[request.framework.text]
        about, lock, place = installed.metadata, installed.lock, installed.environment
        there = profiles_of(how.framework, place)
        wanted = [profile for profile in how.profiles if profile in there]
        labels = expand_profiles([asked], wanted, {asked: place})
        with show_steps() as on_step:
            await measure(dict.fromkeys(labels, place), how.themes, figures, on_step)
        found = {"packages": about.packages, "size": about.size, "lock_digest": about.lock_digest}
        if not any(one.report for one in figures.values()):
            reasons = dict.fromkeys(one.reason for one in figures.values())
            found["failure"] = f"its adapter cannot be measured: {'; '.join(reasons)}"
    except EnvironmentFailed as failure:
        found = {"failure": str(failure).splitlines()[0]}
    finally:
        _remove_all(temporary)
    measured = MeasuredRelease(
        framework=how.framework,
        release=published.version,
        published=published.published,
        kit=how.kit,
        measured_at=datetime.now(UTC),
        trialbed=version("trialbed"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        figures=tuple(figures.values()),
        **found,
    )
    return measured, lock


def _remove_all(store: EnvironmentStore) -> None:
    for installed in [*store]:
        store.remove(installed)
