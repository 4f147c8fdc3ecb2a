"""Find the environment for each request, or use uv to resolve exact versions and install them into a folder."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from trialbed.child_processes import end_process
from trialbed.drivers import GROUPS
from trialbed.environments._distributions import (
    OWN,
    local_path,
    local_url,
    package_folders,
    python_id,
    without_credentials,
)
from trialbed.environments._frameworks import FrameworkSpec, check_name, declared_distributions, runs_here
from trialbed.environments._store import (
    HASH,
    LOCK,
    METADATA,
    VENV,
    BuildRequest,
    EnvironmentMetadata,
    EnvironmentStore,
    InstalledEnvironment,
    folder_name,
    lock_digest,
    lock_text,
    locked_version,
    requirements,
    venv_python,
)
from trialbed.errors import EnvironmentFailed
from trialbed.records import Environment, framework_name
from trialbed.settings import REDACTED, make_folder, passed_variables
from trialbed.texts import number_of
from trialbed.wire.redaction import redact

UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_SYSTEM_PYTHON", "UV_PYTHON", "UV_PROJECT")
"""Variables that would make uv work on another environment than the one it is given."""

FOR_BUILDS = re.compile(
    r"UV_\w+|PIP_\w+|\w+_PROXY|NETRC|GIT_\w+|SSH_AUTH_SOCK|CC|CXX|\w*FLAGS|PKG_CONFIG\w*|CARGO_\w+|RUSTUP_\w+",
    re.IGNORECASE,
)
"""Variables that uv and the compilers that it starts get too, with the passwords of indexes and proxies."""

SPACE_AND_NETWORK = (
    "uv needs space in the folders of --env-dir and UV_CACHE_DIR, and a network, or UV_OFFLINE=1 and every package in "
    "its cache."
)
"""Advice for failures that the machine causes."""

MAX_LENGTH = 1500
"""Characters of a reason that are shown."""

_DECORATION = re.compile(r"[\s\u00d7╰├│─▶]+")


class UvFailed(Exception):
    """uv ended with an error; holds its output."""

    def __init__(self, stderr: str) -> None:
        super().__init__(failure_reason(stderr))
        self.stderr = stderr


def find_uv() -> str | None:
    """Return the path of uv next to this interpreter, else on ``PATH``."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv")


class Uv:
    """uv, run in a folder without any project's settings.

    Raises:
        EnvironmentFailed: uv is not installed.
    """

    def __init__(self, folder: Path) -> None:
        binary = find_uv()
        if binary is None:
            raise EnvironmentFailed("uv, which builds environments, was not found; install it with `pip install uv`")
        self._binary = binary
        self._folder = folder

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run uv with these arguments; returns its output.

        Args:
            stdin: its standard input.

        Raises:
            UvFailed: it ended with an error.
        """
        # Packages may run code when they are built, which no key of the user's concerns.
        given = {name: value for name, value in os.environ.items() if FOR_BUILDS.fullmatch(name)} | passed_variables()
        process = await asyncio.create_subprocess_exec(
            self._binary,
            "--color=never",
            "--no-progress",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={name: value for name, value in given.items() if name not in UNWANTED},
            cwd=self._folder,
            # Ctrl-C is this process's to handle: uv is ended when the build is cancelled.
            start_new_session=True,
        )
        try:
            out, err = await process.communicate(stdin.encode())
        except asyncio.CancelledError:
            # With the processes that it started, such as builds of source distributions.
            with contextlib.suppress(ProcessLookupError):
                if sys.platform != "win32":
                    os.killpg(process.pid, signal.SIGKILL)
            await end_process(process)
            raise
        if process.returncode != 0:
            raise UvFailed(err.decode(errors="replace"))
        return out.decode()


def failure_reason(stderr: str) -> str:
    """Return the output of uv as one paragraph, without decoration and secrets."""
    reason = _DECORATION.sub(" ", without_credentials(redact(stderr), f"{REDACTED}@")).strip().removeprefix("error: ")
    if len(reason) > MAX_LENGTH:
        reason = f"{reason[: MAX_LENGTH // 2]} […] {reason[-MAX_LENGTH // 2 :]}"
    return reason or "uv gave no reason"


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
        framework = request.framework
        advice = f"If its adapter is elsewhere, name it: bench env add {framework.name} --adapter REQUIREMENT"
        if framework.release:
            advice = f"Without a version ({framework.name}) the newest release that fits is installed."
        raise EnvironmentFailed(
            f"{framework.text}: its requirements cannot be resolved. uv says: {failure}\n{advice}\n{SPACE_AND_NETWORK}"
        ) from failure
    return requirements(found)


def _adapters_in(item: Distribution) -> set[str]:
    return {framework_name(entry.name) for entry in item.entry_points.select(group=GROUPS["frameworks"])}


ShowStep = Callable[[str, str, str], object]
"""Takes a given framework, the current step of its environment or an empty text at the end, and a line for the user, if
any.
"""


def show_nothing(framework: str, step: str, line: str = "") -> None:
    """Show no step."""


WAITING = ("waiting", "another process is building environments; waiting for it")
"""The step while another process builds, and the line for it."""


async def build(
    store: EnvironmentStore, uv: Uv, framework: FrameworkSpec, lines: tuple[str, ...], show: ShowStep = show_nothing
) -> tuple[InstalledEnvironment, bool]:
    """Install exact requirements into an environment of their own, or find it installed; return whether it is new.

    The caller holds the store's lock.

    Raises:
        EnvironmentFailed: it cannot be installed, or lacks a requested package.
    """
    lock = lock_text(lines)
    name = folder_name(framework.name, lock_digest(lock))
    if found := InstalledEnvironment.read(store.folder / name):
        return found, False
    package = framework.packages[0]
    release = locked_version(lock, package)
    summary = f"{f'{package} {release}, ' if release else ''}{number_of(len(lines), 'package')}"
    show(framework.text, "installing", f"building its environment ({summary}) …")
    folder = store.new_build_folder(name)
    try:
        await _install(uv, folder, framework, lines)
        await asyncio.to_thread(_write_metadata, folder, framework, lock, await uv("--version"))
        return store.add(folder, name), True
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _install(uv: Uv, folder: Path, framework: FrameworkSpec, lines: tuple[str, ...]) -> None:
    python = str(venv_python(folder))
    # Compiled now, as pip does it; otherwise a trial would pay for the first import of a module.
    compiling = () if "UV_COMPILE_BYTECODE" in os.environ else ("--compile-bytecode",)
    install = ("pip", "install", "--quiet", "--no-deps", *compiling, "--python", python)
    hashed, others = (tuple(line for line in lines if (HASH in line) is wanted) for wanted in (True, False))
    try:
        await uv("venv", "--quiet", "--relocatable", "--no-project", "--python", sys.executable, str(folder / VENV))
        # With hashes, uv refuses every requirement without one, such as a folder.
        for options, part in ((("--require-hashes",), hashed), ((), others)):
            if not part:
                continue
            await uv(*install, *options, *_refresh_options(part), "--requirement", "-", stdin="\n".join(part))
        await uv("pip", "check", "--quiet", "--python", python)
    except UvFailed as failure:
        raise EnvironmentFailed(
            f"{framework.text}: its environment cannot be built. uv says: {failure}\n{SPACE_AND_NETWORK}"
        ) from failure


def _refresh_options(lines: Iterable[str]) -> list[str]:
    """Return options that keep uv from using an earlier build of a local folder."""
    names = [_NAMED.match(line) for line in lines if (path := local_path(local_url(line) or "")) and path.is_dir()]
    return [f"--refresh-package={name[1].partition('[')[0]}" for name in names if name]


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
        size=sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()),
        created_at=datetime.now(UTC),
        uv=uv_version.split()[1],
    )
    (folder / LOCK).write_text(lock, encoding="utf-8")
    (folder / METADATA).write_text(metadata.model_dump_json(indent=2), encoding="utf-8")


def _remove_credentials(folder: Path) -> None:
    """Remove credentials from package URLs, which older releases of uv record unchanged."""
    places = package_folders(venv_python(folder))
    for path in [file for place in places for file in place.glob("*.dist-info/direct_url.json")]:
        text = path.read_text(encoding="utf-8")
        if without_credentials(text) != text:
            # uv may have linked the file to its cache: a new one takes its place.
            path.unlink()
            path.write_text(without_credentials(text), encoding="utf-8")


def _adapter(packages: Packages, framework: FrameworkSpec) -> Distribution:
    adapters = {item: _adapters_in(item) for item in packages.values()}
    if found := next((item for item, names in adapters.items() if framework.name in names), None):
        return found
    others = {name for item, names in adapters.items() if canonicalize_name(item.name) != OWN for name in names}
    names = ", ".join(sorted(others)) or "none"
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


AT_A_TIME = 4
"""Environments that are built at the same time."""


async def provide(
    store: EnvironmentStore, requests: Iterable[BuildRequest], show: ShowStep = show_nothing
) -> dict[str, InstalledEnvironment]:
    """Return the environment of each request, by the framework's text; missing ones are built, several at a time.

    Raises:
        EnvironmentFailed: one cannot be built. The others are built all the same.
    """
    # Without the lock at first: environments can be found in a folder that cannot be written.
    wanted = {request.framework.text: request for request in requests}
    found = {text: None if is_fresh(request) else store.find(request) for text, request in wanted.items()}
    installed = {text: environment for text, environment in found.items() if environment is not None}
    for text, environment in installed.items():
        show(text, "", f"own environment {environment.name} ({environment.summary})")
    missing = [request for text, request in wanted.items() if text not in installed]
    if not missing:
        return installed
    make_folder(store.folder, "--env-dir", shared=True)
    slots = asyncio.Semaphore(AT_A_TIME)

    async def one(request: BuildRequest) -> InstalledEnvironment:
        async with slots:
            return await _provide_one(store, request, show)

    try:
        async with store.building(lambda: [show(request.framework.text, *WAITING) for request in missing]):
            ended = await asyncio.gather(*map(one, missing), return_exceptions=True)
        failures = [failure for failure in ended if isinstance(failure, BaseException)]
        for failure in failures:
            if not isinstance(failure, EnvironmentFailed) or len(failures) == 1:
                raise failure
    except OSError as error:
        names = ", ".join(request.framework.text for request in missing)
        advice = "free some space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise EnvironmentFailed(
            f"{names}: not built: {error.filename or store.folder}: {error.strerror}; {advice}name another folder "
            "with --env-dir"
        ) from error
    if failures:
        raise EnvironmentFailed("\n".join(map(str, failures)))
    built = zip(missing, ended, strict=True)
    return installed | {request.framework.text: one for request, one in built if isinstance(one, InstalledEnvironment)}


def is_fresh(request: BuildRequest) -> bool:
    """Return whether a request needs a new environment, even if it already has one."""
    return request.refresh or bool(request.lock)


async def _provide_one(store: EnvironmentStore, request: BuildRequest, show: ShowStep) -> InstalledEnvironment:
    """Find an environment that another process has built meanwhile, or build it; the caller holds the store's lock."""
    framework, began = request.framework.text, time.monotonic()
    took, line = "", ""
    try:
        installed = None if is_fresh(request) else store.find(request)
        if installed is None:
            show(framework, "choosing versions", "")
            request, uv = store.with_last_adapter(request), Uv(store.folder)
            installed, is_new = await build(store, uv, request.framework, await resolve(uv, request), show)
            await asyncio.to_thread(store.save_resolution, request, installed)
            took = f", built in {time.monotonic() - began:.0f} s" if is_new else ""
        line = f"own environment {installed.name} ({installed.summary}){took}"
        return installed
    finally:
        show(framework, "", line)


async def locked_environment(label: str, lock: str, store: EnvironmentStore) -> Environment:
    """Find the environment of a lock in a store of this machine, or build it there.

    The lock of the environment differs from this one if it was made for another interpreter or platform.

    Args:
        label: of the framework, in a run.

    Raises:
        EnvironmentFailed: it cannot be built here; says why.
    """
    spec, lines = FrameworkSpec.parse(label), requirements(lock)
    installed = InstalledEnvironment.read(store.folder / folder_name(spec.name, lock_digest(lock)))
    if installed is None:
        for line in lines:
            path = local_path(local_url(line) or "")
            if path is not None and not path.exists():
                raise EnvironmentFailed(
                    f"{spec.text}: its lock names {path}, which is not on this machine; install Trialbed and the "
                    "adapter from an index or a URL, so that other machines can build the same environment"
                )
        make_folder(store.folder, "TRIALBED_ENV_DIR", shared=True)
        async with store.building(lambda: None):
            installed, _ = await build(store, Uv(store.folder), spec, lines)
    return installed.environment


def needed_environments(
    labels: Sequence[str], store: EnvironmentStore
) -> tuple[dict[str, BuildRequest], list[BuildRequest]]:
    """Find frameworks that cannot run in this interpreter and need an environment; profiles share one.

    Returns:
        Label -> request, and the requests without an environment yet.

    Raises:
        DriverNotFound: the name of a framework without an environment looks misspelt.
    """
    requests = {label: BuildRequest(FrameworkSpec.parse(label)) for label in labels if not runs_here(label)}
    missing = [one for one in {one.framework.text: one for one in requests.values()}.values() if not store.find(one)]
    for request in missing:
        check_name(request.framework)
    return requests, missing
