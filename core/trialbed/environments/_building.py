"""From a lock to an environment in its place."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from trialbed.drivers import GROUPS
from trialbed.environments._built import ABOUT, LOCK, VENV, About, Built, folder_name, site_packages, venv_python
from trialbed.environments._holding import held
from trialbed.environments._labels import OWN, Label
from trialbed.environments._lock import lock_digest, lock_text, python_id
from trialbed.environments._reason import NEEDED
from trialbed.environments._resolution import rebuilt
from trialbed.environments._secrecy import without_credentials
from trialbed.environments._shelf import Shelf
from trialbed.environments._uv import Uv, UvFailed
from trialbed.errors import EnvironmentFailed

Packages = Mapping[NormalizedName, Distribution]


async def build(
    shelf: Shelf,
    uv: Uv,
    label: Label,
    lines: tuple[str, ...],
    *,
    begun: Callable[[], None],
    waiting: Callable[[], None],
) -> Built:
    """Install exact requirements into an environment of their own; one that is already there is used.

    Args:
        begun: called when something is really to be installed.
        waiting: called if another process is building the same environment.

    Raises:
        EnvironmentFailed: it cannot be installed, or is not what was asked for.
    """
    lock = lock_text(lines)
    name = folder_name(label.name, lock_digest(lock))
    await asyncio.to_thread(shelf.sweep)
    async with held(shelf.file_lock(name), waiting):
        if found := Built.read(shelf.folder / name):
            return found
        begun()
        scratch = shelf.scratch(name)
        try:
            await _install(uv, scratch, label, lines)
            await asyncio.to_thread(_write_down, scratch, label, lock, await uv("--version"))
            shelf.place(scratch, name)
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
            raise
    built = Built.read(shelf.folder / name)
    if built is None:
        raise EnvironmentFailed(f"{label.text}: {shelf.folder / name} vanished while it was built; try again")
    return built


async def _install(uv: Uv, scratch: Path, label: Label, lines: tuple[str, ...]) -> None:
    python = str(venv_python(scratch))
    install = ("pip", "install", "--quiet", "--no-deps", "--compile-bytecode", "--python", python)
    try:
        await uv("venv", "--quiet", "--relocatable", "--no-project", "--python", sys.executable, str(scratch / VENV))
        # Compiled now, as pip does it, so that no trial pays for the first import of a module.
        await uv(*install, *rebuilt(lines), "--requirement", "-", given="\n".join(lines))
        await uv("pip", "check", "--quiet", "--python", python)
    except UvFailed as failure:
        raise EnvironmentFailed(
            f"{label.text}: its environment cannot be built. uv says: {failure}\n{NEEDED}"
        ) from failure


def _forget_credentials(scratch: Path) -> None:
    """Older releases of uv write the URLs of packages down as they were given."""
    for path in site_packages(scratch).glob("*.dist-info/direct_url.json"):
        text = path.read_text(encoding="utf-8")
        if without_credentials(text) != text:
            # uv may have linked the file to its cache: a new one takes its place.
            path.unlink()
            path.write_text(without_credentials(text), encoding="utf-8")


def _write_down(scratch: Path, label: Label, lock: str, uv_version: str) -> None:
    _forget_credentials(scratch)
    packages = {
        canonicalize_name(item.name): item for item in distributions(path=[str(site_packages(scratch))]) if item.name
    }
    adapter = _adapter(packages, label)
    _check_versions(packages, label)
    framework = packages.get(canonicalize_name(label.packages[0]))
    about = About(
        name=label.name,
        framework_version=framework.version if framework else "",
        adapter=adapter.name,
        adapter_version=adapter.version,
        python=python_id(),
        packages=tuple(sorted(f"{name}=={item.version}" for name, item in packages.items())),
        lock_digest=lock_digest(lock),
        size=sum(_sizes(scratch)),
        created_at=datetime.now(UTC),
        uv=uv_version.split()[1],
    )
    (scratch / LOCK).write_text(lock, encoding="utf-8")
    (scratch / ABOUT).write_text(about.model_dump_json(indent=2), encoding="utf-8")


def _adapter(packages: Packages, label: Label) -> Distribution:
    """The distribution that has the adapter."""
    group = GROUPS["frameworks"]
    offers = [(item, entry.name) for item in packages.values() for entry in item.entry_points.select(group=group)]
    for item, name in offers:
        if name == label.name:
            return item
    names = ", ".join(sorted(name for item, name in offers if canonicalize_name(item.name) != OWN)) or "none"
    raise EnvironmentFailed(
        f"{label.text}: what was installed has no adapter of that name (there is: {names}); "
        f"name the right one with bench env add {label.name} --adapter REQUIREMENT"
    )


def _check_versions(packages: Packages, label: Label) -> None:
    """Hold a lock that somebody gave against what it is used for."""
    wanted = {OWN: version(OWN)} | {package: label.release for package in label.packages if label.release}
    for name, release in wanted.items():
        found = packages.get(canonicalize_name(name))
        if found is None or Version(found.version) != Version(str(release)):
            has = found.version if found else "none"
            raise EnvironmentFailed(f"{label.text}: the lock has {name} {has}, but {name} {release} is wanted here")


def _sizes(folder: Path) -> Iterator[int]:
    for inner in os.scandir(folder):
        if inner.is_dir(follow_symlinks=False):
            yield from _sizes(Path(inner.path))
        else:
            yield inner.stat(follow_symlinks=False).st_size
