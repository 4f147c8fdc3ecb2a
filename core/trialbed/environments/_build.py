"""The build of an environment: from requirements to exact versions, and from these to a folder in the store."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from trialbed.drivers import GROUPS
from trialbed.environments._frameworks import (
    FIRST_PARTY,
    OWN,
    FrameworkSpec,
    declared_distributions,
    runs_here,
)
from trialbed.environments._installed import (
    HASH,
    LOCK,
    METADATA,
    VENV,
    EnvironmentMetadata,
    InstalledEnvironment,
    folder_name,
    lock_digest,
    lock_text,
    package_folders,
    requirements,
    venv_python,
)
from trialbed.environments._requirements import local_path, local_url, python_id, without_credentials
from trialbed.environments._store import BuildRequest, EnvironmentStore, hold_file
from trialbed.environments._uv import SPACE_AND_NETWORK, Uv, UvFailed, is_machine_failure
from trialbed.errors import EnvironmentFailed
from trialbed.records import framework_name

Packages = Mapping[NormalizedName, Distribution]

_NAMED = re.compile(r"(\S+)\s+@\s+")


async def resolve(uv: Uv, request: BuildRequest) -> tuple[str, ...]:
    """Exact requirements for a request, this interpreter and this platform.

    Raises:
        EnvironmentFailed: the requirements cannot be resolved; has uv's reason.
    """
    if request.lock:
        return request.lock
    try:
        found = await uv(
            *("pip", "compile", "--quiet", "--no-header", "--no-annotate", "--generate-hashes"),
            *("--python", sys.executable),
            *(["--refresh"] if request.refresh else _refresh_options(request.requirements)),
            "-",
            stdin="\n".join(request.requirements),
        )
    except UvFailed as failure:
        raise EnvironmentFailed(_explain_unresolved(request.framework, failure)) from failure
    return requirements(found)


async def with_distributions(uv: Uv, request: BuildRequest) -> BuildRequest:
    """The request with the distributions that its adapter declares as its framework's own.

    It is looked at only where a release is asked for, and neither this interpreter nor Trialbed knows the adapter: it
    is installed alone, into a folder that is deleted again. Nothing of it is imported.

    Raises:
        EnvironmentFailed: it cannot be installed; has uv's reason.
    """
    spec = request.framework
    if spec.release is None or request.lock or spec.declared or spec.name in FIRST_PARTY or runs_here(spec.name):
        return request
    needs = await adapter_needs(uv, request)
    return replace(request, framework=replace(spec, declared=needs.declared))


@dataclass(frozen=True)
class AdapterNeeds:
    """The metadata of an adapter that concern its framework.

    Attributes:
        declared: the framework's own distributions; empty where it declares none.
        requires: its requirements, as its metadata have them.
    """

    declared: tuple[str, ...]
    requires: tuple[str, ...]


async def adapter_needs(uv: Uv, request: BuildRequest) -> AdapterNeeds:
    """Read the metadata of a request's adapter: it is installed alone, into a folder that is deleted again.

    Raises:
        EnvironmentFailed: it cannot be installed; has uv's reason.
    """
    spec, line = request.framework, request.requirements[1]
    plain = line.removeprefix("-e ")
    with tempfile.TemporaryDirectory() as folder:
        install = ("pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", folder)
        try:
            await uv(*install, *_refresh_options([line]), "--requirement", "-", stdin=plain)
        except UvFailed as failure:
            raise EnvironmentFailed(_explain_unresolved(spec, failure)) from failure
        found = [item for item in distributions(path=[folder]) if _has_adapter(item, spec.name)]
        declared = (declared_distributions(item, spec.name) for item in found)
        return AdapterNeeds(
            next(filter(None, declared), ()), tuple(line for item in found for line in item.requires or ())
        )


def _has_adapter(item: Distribution, name: str) -> bool:
    points = item.entry_points.select(group=GROUPS["frameworks"])
    return any(framework_name(entry.name) == name for entry in points)


async def build(
    store: EnvironmentStore,
    uv: Uv,
    framework: FrameworkSpec,
    lines: tuple[str, ...],
    *,
    on_start: Callable[[], None],
    on_wait: Callable[[], None],
) -> InstalledEnvironment:
    """Install exact requirements into an environment of their own, or find it installed.

    Args:
        on_start: called before anything is installed.
        on_wait: called if another process is building the same environment.

    Raises:
        EnvironmentFailed: it cannot be installed, or lacks a requested package.
    """
    lock = lock_text(lines)
    name = folder_name(framework.name, lock_digest(lock))
    await asyncio.to_thread(store.remove_leftovers)
    async with hold_file(store.mutex_path(name), on_wait):
        if found := InstalledEnvironment.read(store.folder / name):
            return found
        on_start()
        folder = store.new_build_folder(name)
        try:
            await _install(uv, folder, framework, lines)
            await asyncio.to_thread(_write_metadata, folder, framework, lock, await uv("--version"))
            store.add(folder, name)
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
    installed = InstalledEnvironment.read(store.folder / name)
    if installed is None:
        raise EnvironmentFailed(f"{framework.text}: {store.folder / name} was deleted while it was built; try again")
    return installed


async def _install(uv: Uv, folder: Path, framework: FrameworkSpec, lines: tuple[str, ...]) -> None:
    python = str(venv_python(folder))
    install = ("pip", "install", "--quiet", "--no-deps", *_compiling(), "--python", python)
    try:
        await uv("venv", "--quiet", "--relocatable", "--no-project", "--python", sys.executable, str(folder / VENV))
        for options, part in _parts(lines):
            await uv(*install, *options, *_refresh_options(part), "--requirement", "-", stdin="\n".join(part))
        await uv("pip", "check", "--quiet", "--python", python)
    except UvFailed as failure:
        raise EnvironmentFailed(
            f"{framework.text}: its environment cannot be built. uv says: {failure}\n{SPACE_AND_NETWORK}"
        ) from failure


def _compiling() -> tuple[str, ...]:
    """Compile now, as pip does it, so that no trial pays for the first import of a module; unless uv is told itself."""
    return () if "UV_COMPILE_BYTECODE" in os.environ else ("--compile-bytecode",)


def _parts(lines: Iterable[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the requirements with hashes, of which uv refuses every other file, and those without, such as folders."""
    lines = tuple(lines)
    hashed = tuple(line for line in lines if HASH in line)
    others = tuple(line for line in lines if HASH not in line)
    if hashed:
        yield ("--require-hashes",), hashed
    if others:
        yield (), others


def _refresh_options(lines: Iterable[str]) -> list[str]:
    """Options that keep uv from using an earlier build of a local folder."""
    names = [_NAMED.match(line) for line in lines if (path := local_path(local_url(line) or "")) and path.is_dir()]
    return [f"--refresh-package={name[1]}" for name in names if name]


def _explain_unresolved(framework: FrameworkSpec, failure: UvFailed) -> str:
    text = f"{framework.text}: its requirements cannot be resolved. uv says: {failure}\n"
    if is_machine_failure(failure.stderr):
        return f"{text}{SPACE_AND_NETWORK}"
    if framework.release:
        return f"{text}Without a version ({framework.name}) the newest release that fits is installed."
    return f"{text}If its adapter is elsewhere, name it: bench env add {framework.name} --adapter REQUIREMENT"


def _write_metadata(folder: Path, framework: FrameworkSpec, lock: str, uv_version: str) -> None:
    _remove_credentials(folder)
    places = [str(place) for place in package_folders(venv_python(folder))]
    packages = {canonicalize_name(item.name): item for item in distributions(path=places) if item.name}
    adapter = _adapter(packages, framework)
    _check_versions(packages, framework)
    declared = declared_distributions(adapter, framework.name) or framework.packages
    own = packages.get(canonicalize_name(declared[0]))
    metadata = EnvironmentMetadata(
        name=framework.name,
        framework_version=own.version if own else "",
        adapter=adapter.name,
        adapter_version=adapter.version,
        python=python_id(),
        packages=tuple(sorted(f"{name}=={item.version}" for name, item in packages.items())),
        lock_digest=lock_digest(lock),
        size=sum(_sizes(folder)),
        created_at=datetime.now(UTC),
        uv=uv_version.split()[1],
    )
    (folder / LOCK).write_text(lock, encoding="utf-8")
    (folder / METADATA).write_text(metadata.model_dump_json(indent=2), encoding="utf-8")


def _remove_credentials(folder: Path) -> None:
    """Older releases of uv record the URLs of packages as they were given."""
    places = package_folders(venv_python(folder))
    for path in [file for place in places for file in place.glob("*.dist-info/direct_url.json")]:
        text = path.read_text(encoding="utf-8")
        if without_credentials(text) != text:
            # uv may have linked the file to its cache: a new one takes its place.
            path.unlink()
            path.write_text(without_credentials(text), encoding="utf-8")


def _adapter(packages: Packages, framework: FrameworkSpec) -> Distribution:
    """The distribution that has the adapter."""
    group = GROUPS["frameworks"]
    offers = [(item, entry.name) for item in packages.values() for entry in item.entry_points.select(group=group)]
    for item, name in offers:
        if framework_name(name) == framework.name:
            return item
    names = ", ".join(sorted(name for item, name in offers if canonicalize_name(item.name) != OWN)) or "none"
    raise EnvironmentFailed(
        f"{framework.text}: the installed packages have no adapter of this name (adapters: {names}); "
        f"name the right one with bench env add {framework.name} --adapter REQUIREMENT"
    )


def _check_versions(packages: Packages, framework: FrameworkSpec) -> None:
    """Check that a given lock has this Trialbed and the release that is asked for."""
    wanted = {OWN: version(OWN)} | {package: framework.release for package in framework.packages if framework.release}
    for name, release in wanted.items():
        found = packages.get(canonicalize_name(name))
        if found is None or Version(found.version) != Version(str(release)):
            has = f"has {name} {found.version}" if found else f"does not have {name}"
            raise EnvironmentFailed(f"{framework.text}: the lock {has}, but {name} {release} is needed here")


def _sizes(folder: Path) -> Iterator[int]:
    for inner in os.scandir(folder):
        if inner.is_dir(follow_symlinks=False):
            yield from _sizes(Path(inner.path))
        else:
            yield inner.stat(follow_symlinks=False).st_size
