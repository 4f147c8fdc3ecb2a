"""Releases of one framework, each measured by the kit, and the changes between neighbours."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pydantic import Field, ValidationError

import trialbed.wire
import trialbed_scripted
import trialbed_server
from trialbed.cli.progress import build_progress
from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    Uv,
    UvFailed,
    expand_profiles,
    hold_file,
    profiles_of,
    provide,
    requirement_folder,
)
from trialbed.errors import DataError, EnvironmentFailed, NothingMeasured, UsageError
from trialbed.files import read_bytes, replace_file
from trialbed.records import PIN, Json, Record
from trialbed.texts import first_of, group_by_key, number_of, number_were, one_line
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.differences import Difference, differences, show, tell_texts_apart, without_varying_parts
from trialbed_adapter_lab.fidelity import MeasuredAdapter, measure
from trialbed_adapter_lab.kit_process import show_line
from trialbed_adapter_lab.probe import CheckFinding
from trialbed_adapter_lab.report_command import show_steps

PYPI = "https://pypi.org/simple"
ACCEPT = "application/vnd.pypi.simple.v1+json"
SECONDS = 60.0
LARGEST = 50_000_000
"""Bytes of a page that are read; the longest of public packages have a tenth."""

LONGEST_NAME = 200
"""Characters of a file's name, and of its time, that are looked at."""


class KnownReleases(Record):
    """The releases that an index has, without pre-releases and withdrawn (yanked) ones.

    Attributes:
        package: its name on the index. ``allowed``: the versions of it that the adapter allows.
        published: all versions, the oldest first -> the time of the first file, if the index says so.
    """

    package: str = ""
    allowed: str = ""
    published: Mapping[str, str] = Field(default_factory=dict)

    def within(self, wanted: SpecifierSet) -> list[str]:
        """Return the versions in a range that the adapter allows."""
        return [*(SpecifierSet(self.allowed) & wanted).filter(self.published)]


def version_range(first: str = "", last: str = "") -> SpecifierSet:
    """Return the range between two versions, which belong to it; an empty one is no limit."""
    return SpecifierSet(",".join([f">={first}"] * bool(first) + [f"<={last}"] * bool(last)))


def choose(known: KnownReleases, wanted: SpecifierSet, most: int = 0) -> list[str]:
    """Return the releases to measure, the oldest first; the oldest and the newest of the range are always among them.

    Raises UsageError if none is in the range.

    Args:
        most: at most this many; the newest if it is one, and all if it is zero.
    """
    found = known.within(wanted)
    if not found:
        raise UsageError(
            f"no release is in the range {wanted or 'of all'} that the adapter allows ({known.allowed or 'any'}); "
            f"the index has {len(known.published)} releases"
        )
    if not 1 < most < len(found):
        return found[-1:] if most == 1 else found
    step = (len(found) - 1) / (most - 1)
    return [found[round(number * step)] for number in range(most)]


async def known_releases(request: BuildRequest, store: EnvironmentStore) -> KnownReleases:
    """Return the releases of the framework's package on the index, and the range that the adapter allows."""
    package = canonicalize_name(request.framework.packages[0])
    limits = SpecifierSet()
    for line in await _dependencies(request, store):
        with suppress(InvalidRequirement):
            needed = Requirement(line)
            if canonicalize_name(needed.name) == package and (needed.marker is None or needed.marker.evaluate()):
                limits &= needed.specifier
    published = await asyncio.to_thread(published_releases, package)
    return KnownReleases(package=package, allowed=str(limits), published=published)


async def _dependencies(request: BuildRequest, store: EnvironmentStore) -> list[str]:
    store.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        install = ("pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", place)
        try:
            await Uv(store.folder)(*install, "--requirement", "-", stdin=request.requirements[1].removeprefix("-e "))
        except UvFailed as failure:
            name = request.framework.text
            raise EnvironmentFailed(f"{name}: its adapter cannot be inspected: {failure}") from failure
        return [one for item in distributions(path=[place]) for one in item.requires or ()]


def indexes() -> list[str]:
    """Return the indexes in uv's variables, in uv's order; an entry is ``URL`` or ``NAME=URL``."""
    named = [*os.environ.get("UV_INDEX", "").split(), *os.environ.get("UV_EXTRA_INDEX_URL", "").split()]
    default = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or PYPI
    return [entry.partition("=")[2] if "=" in entry.partition("://")[0] else entry for entry in (*named, default)]


def published_releases(package: str) -> dict[str, str]:
    """Return the releases of a package with their times, the oldest first, from the first index that has it."""
    hosts = {index: urlsplit(index).hostname or index for index in indexes()}
    with httpx.Client(timeout=SECONDS, follow_redirects=True, headers={"Accept": ACCEPT}) as client:
        for index, host in hosts.items():
            page = _page(client, f"{index.rstrip('/')}/{canonicalize_name(package)}/", f"{host}: its page of {package}")
            if page is not None:
                return releases_on(page, package)
    asked = ", ".join(hosts.values())
    raise DataError(f"{package}: no index has it (asked: {asked}); UV_INDEX and UV_DEFAULT_INDEX name others")


def _page(client: httpx.Client, url: str, name: str) -> bytes | None:
    """Return a page; None if the index does not have it."""
    try:
        with client.stream("GET", url) as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                return None
            response.raise_for_status()
            content = b""
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > LARGEST:
                    raise DataError(f"{name} is longer than {LARGEST:,} bytes")
            return content
    except httpx.HTTPStatusError as error:
        raise NothingMeasured(f"{name} is answered with status {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise NothingMeasured(f"{name} cannot be read: {type(error).__name__}") from error


def releases_on(page: bytes, package: str) -> dict[str, str]:
    """Return the releases on a page of files with their times; files that are not the package's do not count."""
    try:
        files = json.loads(page)["files"]
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise DataError(f"the index's page of {package} is not a list of files in JSON (PEP 691)") from error
    found = []
    for file in files if isinstance(files, list) else []:
        # A file may be anything, and its name may be wrong in many ways, all of which are ValueError.
        with suppress(ValueError, TypeError, LookupError):
            name = str(file["filename"])[:LONGEST_NAME]
            owner, release = (parse_wheel_filename if name.endswith(".whl") else parse_sdist_filename)(name)[:2]
            if owner == canonicalize_name(package) and not (file.get("yanked") or release.is_prerelease):
                found.append((release, str(file.get("upload-time") or "")[:LONGEST_NAME]))
    releases = sorted(group_by_key(found).items())
    return {str(release): min(filter(None, times), default="") for release, times in releases}


TEMPORARY = ".releases"
"""The folder within that of all environments for those that are removed again, so that nobody else can use one."""

LAB = Path(__file__).parent
KIT = ("_kit.py", "differences.py", "harness", "probe.py", "probes", "trials.py")
"""The code of the lab that measures; the code that shows figures is not part of it."""


class ReleaseConditions(Record):
    """A release and the conditions of its measurement.

    Attributes:
        published: the time of its first file on the index, if it says so.
        kit: the digest of the kit that measured it.
        trialbed, python, system: the versions and the machine.
        lock_digest: of the lock stored with its record.
        failure: why the measurement failed, or empty.
    """

    release: str
    published: str = ""
    measured_at: datetime
    kit: str
    trialbed: str
    python: str
    system: str
    lock_digest: str = ""
    failure: str = ""


class MeasuredRelease(ReleaseConditions):
    """A measured release.

    Attributes:
        packages: ``name==version`` of everything in its environment, sorted.
        figures: the kit's report on each profile, or the reason for its absence.
    """

    framework: str
    packages: tuple[str, ...] = ()
    figures: tuple[MeasuredAdapter, ...] = ()


class ReleaseFolder:
    """The measured releases of one framework, each with a record and a lock.

    An unreadable file, such as one from an earlier Trialbed, counts as absent.
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
        profiles: the profiles to measure, if the adapter has them.
        themes: the probes' themes.
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
    how: ReleaseMeasurement, releases: Mapping[str, str], folder: ReleaseFolder
) -> list[MeasuredRelease]:
    """Measure releases and keep each; return the records, including releases measured by another command meanwhile.

    Args:
        releases: version -> time of publication.
    """
    found = []
    for number, release in enumerate(releases, 1):
        name = f"{how.framework} {release} ({number} of {len(releases)})"
        mutex = how.store.folder / f".releases-{how.framework}.lock"
        async with hold_file(mutex, partial(show_line, f"{name}: waits for another command")):
            measured = folder.find(release, how.kit)
            if measured is None:
                show_line(f"{name}: its environment, then the probes")
                measured, lock = await measure_release(how, release, releases[release])
                folder.keep(measured, lock)
        missing = "".join(f", without {one.label}" for one in measured.figures if one.report is None)
        show_line(f"{name}: {measured.failure or f'measured{missing}'}")
        found.append(measured)
    return found


async def measure_release(how: ReleaseMeasurement, release: str, published: str) -> tuple[MeasuredRelease, str]:
    """Build the environment of a release and measure it; return the record, which may be a failure, and the lock.

    The caller sees to it that one release of a framework is measured at a time.
    """
    asked = f"{how.framework}{PIN}{release}"
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
        found = {"packages": about.packages, "lock_digest": about.lock_digest}
        if not any(one.report for one in figures.values()):
            reasons = dict.fromkeys(one.reason for one in figures.values())
            found["failure"] = f"its adapter cannot be measured: {'; '.join(reasons)}"
    except EnvironmentFailed as failure:
        found = {"failure": str(failure).splitlines()[0]}
    finally:
        _remove_all(temporary)
    measured = MeasuredRelease(
        framework=how.framework,
        release=release,
        published=published,
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


LONGEST = 200
"""Characters of a text that a change shows; it is compared as a whole."""

LONGEST_CELL, LONGEST_REASON = 90, 600
"""Characters of a value in a table of the terminal, and of the reason why something was not measured."""

NAMED = 4
"""Subjects and packages that a cell names; it counts the others."""

ABSENT = "(none)"
"""Stands for a figure that a release does not have."""

_TIMED = re.compile(r", s$|^calls at once$")
"""Names of figures that depend on the speed of the machine."""

_SECONDS = re.compile(r"\b[\d.]{1,20}(?= s\b)")


class ReleaseRow(ReleaseConditions):
    """A release in a report.

    Attributes:
        others: other packages with changed versions since the release before, without the framework's own, as
            ``name OLD → NEW``.
        missing: profiles and probes that were not measured, with the reasons.
    """

    others: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class ReleaseChange(Record):
    """One change from a release to the next, possibly of several subjects.

    Attributes:
        release: the first in which it is seen. ``after``: the one before it in which this was measured.
        part: the theme of the probes.
        subjects: the probes, with the figure if they have several.
        before, now: the two values.
        evidence: the first difference on the wire for the first subject, if the values do not show it.
    """

    release: str
    after: str
    profile: str
    part: str
    subjects: tuple[str, ...]
    before: str
    now: str
    evidence: str = ""


class ReleasesReport(Record):
    """A framework over its releases.

    Attributes:
        package: its name on the index; empty if not looked up. ``allowed``: the versions that the adapter allows.
        releases: measured or attempted releases, the oldest first.
        changes: from each to the next, the oldest first.
        left: releases within the range that were not measured.
    """

    framework: str
    package: str = ""
    allowed: str = ""
    releases: tuple[ReleaseRow, ...]
    changes: tuple[ReleaseChange, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def measured(self) -> list[str]:
        """The releases that were measured, the oldest first."""
        return [row.release for row in self.releases if not row.failure]


def report_on(
    folder: ReleaseFolder, known: KnownReleases | None = None, wanted: SpecifierSet | None = None
) -> ReleasesReport:
    """Return the report on a folder's releases in a range, including unmeasured ones on the index."""
    known, wanted = known or KnownReleases(), wanted or SpecifierSet()
    measured = [one for one in folder if wanted.contains(one.release, prereleases=True)]
    there = {one.release for one in measured}
    return ReleasesReport(
        framework=folder.framework,
        package=known.package,
        allowed=known.allowed,
        releases=tuple(_rows(measured, {*FrameworkSpec.parse(folder.framework).packages, "trialbed"})),
        changes=changes_between([one for one in measured if not one.failure]),
        left=tuple(one for one in known.within(wanted) if one not in there),
    )


def changes_between(measured: Sequence[MeasuredRelease]) -> tuple[ReleaseChange, ...]:
    """Return the changes of all figures of these releases, given the oldest first.

    A probe that was skipped or not completed in a release is compared with the last earlier release that completed it.
    """
    last: dict[tuple[str, ...], tuple[str, dict[str, Json]]] = {}
    alike: dict[tuple[str, ...], list[tuple[str, Json, Json]]] = {}
    seen = (
        (one.release, adapter, finding)
        for one in measured
        for adapter in one.figures
        for finding in adapter.findings.values()
    )
    for release, adapter, finding in seen:
        probe, now = (adapter.profile or "", finding.theme, finding.check), _figures(finding)
        after, before = last.get(probe, (release, now))
        # A probe that failed has no figures by name; the failure is the change.
        for name in {**before, **now} if min(len(before), len(now)) > 1 else [*now][:1]:
            old, new = before.get(name, ABSENT), now.get(name, ABSENT)
            if _exact(old) != _exact(new):
                same = (release, after, *probe[:2], _in_words(old), _in_words(new))
                subject = f"{finding.check}: {name}" if name else finding.check
                alike.setdefault(same, []).append((subject, old, new))
        if now:
            last[probe] = release, now
    names = ("release", "after", "profile", "part", "before", "now")
    return tuple(
        ReleaseChange(
            **dict(zip(names, same, strict=True)),
            subjects=tuple(subject for subject, *_ in found),
            evidence=_first_difference(*found[0][1:]),
        )
        for same, found in alike.items()
    )


def _figures(finding: CheckFinding) -> dict[str, Json]:
    """Return the figures by name, and the outcome without a name; empty if the probe was not completed."""
    if finding.outcome in ("skipped", "error"):
        return {}
    outcome = "as expected" if finding.outcome in ("passed", "outdated", "seen") else "not as expected"
    if isinstance(finding.seen, dict):
        return {"": outcome} | {name: seen for name, seen in finding.seen.items() if not _TIMED.search(name)}
    return {"": outcome if finding.seen is None else finding.seen}


def _exact(seen: Json) -> str:
    """Return a text that is equal for equal figures; ``1`` and ``true`` are two values."""
    return _SECONDS.sub("…", without_varying_parts(seen)) if isinstance(seen, str) else json.dumps(seen, sort_keys=True)


def _in_words(seen: Json) -> str:
    if isinstance(seen, list):
        size = sum(len(json.dumps(body)) for body in seen)
        return f"{number_of(len(seen), 'request')}, {size:,} bytes"
    return f"{seen:,}" if type(seen) in (int, float) else one_line(_exact(seen), LONGEST)


def _first_difference(before: Json, now: Json) -> str:
    """Return the first difference of the requests of two trials; empty for other figures."""
    if not (isinstance(before, list) and isinstance(now, list)):
        return ""
    pairs = enumerate(zip(before, now, strict=False), 1)
    where = ((number, found) for number, (old, new) in pairs for found in differences(old, new))
    number, found = next(where, (0, Difference(pointer="", kind="changed")))
    if not number:
        return f"{len(before)} → {len(now)} requests; as far as both go they are equal"
    given, sent = found.given, found.sent
    if found.kind != "changed":
        told = show(sent if found.kind == "added" else given)
    elif isinstance(given, str) and isinstance(sent, str):
        told = tell_texts_apart(given, sent)
    else:
        told = f"{show(given)} → {show(sent)}"
    return one_line(f"request {number}, {found.pointer or '/'} {found.kind}: {told}", LONGEST)


def _rows(measured: Sequence[MeasuredRelease], own: set[str]) -> Iterator[ReleaseRow]:
    """Yield a row for each release; its own packages change their versions with each."""
    before: dict[str, str] = {}
    for one in measured:
        packages = dict(line.split("==", 1) for line in one.packages)
        versions = {name: (before.get(name, ABSENT), packages.get(name, ABSENT)) for name in {*before, *packages} - own}
        changed = sorted(f"{name} {old} → {new}" for name, (old, new) in versions.items() if before and old != new)
        reports = [adapter.report for adapter in one.figures if adapter.report]
        missing = [f"{adapter.label}: {adapter.reason}" for adapter in one.figures if not adapter.report]
        for report in reports:
            errors = [finding for finding in report.findings if finding.outcome == "error"]
            missing += [f"{report.framework}, {finding.check}: {finding.message}" for finding in errors]
        yield ReleaseRow(
            **one.model_dump(include={*ReleaseConditions.model_fields}), others=tuple(changed), missing=tuple(missing)
        )
        before = packages or before


def report_tables(report: ReleasesReport, *, whole: bool = True) -> list[Table]:
    """Return the releases, and a table of changes for each that has any; values are cut for a terminal."""
    columns = ("release", "published", "kit", "changes")
    rows = [TableRow(row.release, _cells(report, row), bool(row.failure)) for row in report.releases]
    overview = Table("Releases", columns, rows, [_sentence(report), *_notes(report)])
    return [overview, *_changes(report, 1000 if whole else LONGEST_CELL)]


def _sentence(report: ReleasesReport) -> str:
    name, measured = report.framework, report.measured
    if not measured:
        return f"No release of {name} could be measured."
    if len(measured) == 1:
        return f"{name} {measured[0]} is the only one here; there is nothing to compare it with."
    changed = dict.fromkeys(change.release for change in report.changes)
    steps = f"{number_of(len(measured) - 1, 'step')} between neighbours"
    result = f"{len(changed)} of {steps} changed something: {', '.join(changed)}"
    return f"{name} {measured[0]} to {measured[-1]}: {result if changed else f'no change in {steps}'}."


def _cells(report: ReleasesReport, row: ReleaseRow) -> tuple[str, ...]:
    published = row.published[:10] or UNKNOWN
    if row.failure:
        return (published, "not measured", UNKNOWN)
    counts = Counter(change.profile for change in report.changes if change.release == row.release)
    changed = ", ".join(f"{count} {profile}".strip() for profile, count in counts.items()) or "none"
    return (published, row.kit[:8], changed)


def _notes(report: ReleasesReport) -> Iterator[str]:
    left = f"; {number_were(len(report.left), 'more release')} not measured" if report.left else ""
    if report.package:
        yield f"The adapter allows {report.package}{report.allowed or ' in any version'}{left}."
    for row in report.releases:
        if row.failure:
            yield f"{row.release} was not measured: {one_line(row.failure, LONGEST_REASON)}"
        yield from (f"{row.release}, not measured: {one_line(reason, LONGEST_REASON)}" for reason in row.missing)
    if len({row.kit for row in report.releases if not row.failure}) > 1:
        yield "Releases with another digest of the kit were measured by another state of it; changes may be the kit's."


def _changes(report: ReleasesReport, longest: int) -> Iterator[Table]:
    packages = {row.release: row.others for row in report.releases}
    columns = ("what", "profile", "before", "now", "first difference")
    for (release, after), changes in group_by_key(((one.release, one.after), one) for one in report.changes).items():
        rows = []
        for one in changes:
            what = f"{one.part}: {first_of(one.subjects, NAMED)}"
            values = (one_line(text, longest) for text in (one.before, one.now, one.evidence or UNKNOWN))
            rows.append((what, one.profile or UNKNOWN, *values))
        others = packages[release]
        note = f"Other packages that changed: {first_of(others, NAMED)}." if others else "No other package changed."
        yield Table.of(f"{release}, after {after}", columns, rows, [note])
