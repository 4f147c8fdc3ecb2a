"""Provision of environments: finds the environment for each request, or builds a new one."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Iterable, Sequence
from functools import partial

from trialbed.environments._build import build, resolve, with_distributions
from trialbed.environments._frameworks import FrameworkSpec, check_name, install_command, runs_here
from trialbed.environments._installed import (
    InstalledEnvironment,
    folder_name,
    lock_digest,
    lock_text,
    locked_version,
    requirements,
)
from trialbed.environments._requirements import local_path, local_url
from trialbed.environments._store import BuildRequest, EnvironmentStore, hold_file
from trialbed.environments._uv import Uv
from trialbed.errors import EnvironmentFailed
from trialbed.records import Environment
from trialbed.settings import make_folder
from trialbed.texts import number_of

AT_A_TIME = 4
"""Environments that are built at the same time."""


class BuildSteps:
    """Is called at each step, with the framework as asked for; shows nothing unless a method is overridden."""

    def resolving(self, framework: str) -> None:
        """The versions of its packages are being chosen."""

    def waiting(self, framework: str) -> None:
        """Another process is building its environment."""

    def offline(self, framework: str) -> None:
        """There is no network; only uv's cache is used."""

    def building(self, framework: str, summary: str) -> None:
        """Packages are being installed; the summary says which framework and how many."""

    def ready(self, framework: str, installed: InstalledEnvironment, seconds: float | None) -> None:
        """The environment can be used; it was built in this many seconds, or was installed already (None)."""

    def failed(self, framework: str) -> None:
        """It could not be built."""


async def provide(
    store: EnvironmentStore, requests: Iterable[BuildRequest], progress: BuildSteps
) -> dict[str, InstalledEnvironment]:
    """The environment of each request, by the framework's text; missing ones are built, several at a time.

    Raises:
        EnvironmentFailed: one cannot be built. The others are built all the same.
    """
    slots = asyncio.Semaphore(AT_A_TIME)

    async def one(request: BuildRequest) -> InstalledEnvironment:
        async with slots:
            return await _provide_one(store, request, progress)

    wanted = list(requests)
    ended = await asyncio.gather(*map(one, wanted), return_exceptions=True)
    failures = [failure for failure in ended if isinstance(failure, BaseException)]
    _raise(failures)
    return {
        request.framework.text: installed
        for request, installed in zip(wanted, ended, strict=True)
        if isinstance(installed, InstalledEnvironment)
    }


async def _provide_one(store: EnvironmentStore, request: BuildRequest, progress: BuildSteps) -> InstalledEnvironment:
    framework = request.framework.text
    began = time.monotonic()
    is_new = False
    try:
        # Without the mutex at first: environments can be found in a folder that cannot be written.
        installed = _find_usable(store, request)
        if installed is None:
            # One process at a time resolves a request; the next one finds its environment.
            async with hold_file(store.mutex_path(request.key), partial(progress.waiting, framework)):
                installed = _find_usable(store, request)
                if installed is None:
                    installed, is_new = await _new(store, store.with_last_choices(request), progress)
    except OSError as error:
        progress.failed(framework)
        raise EnvironmentFailed(f"{framework}: its environment cannot be built: {_unwritable(error, store)}") from error
    except BaseException:
        progress.failed(framework)
        raise
    progress.ready(framework, installed, time.monotonic() - began if is_new else None)
    return installed


def _find_usable(store: EnvironmentStore, request: BuildRequest) -> InstalledEnvironment | None:
    return None if request.refresh or request.lock else store.find(request)


async def _new(
    store: EnvironmentStore, request: BuildRequest, progress: BuildSteps
) -> tuple[InstalledEnvironment, bool]:
    """The environment that the request resolves to, and whether it had to be built."""
    framework = request.framework.text
    uv = Uv(store.folder, partial(progress.offline, framework))
    progress.resolving(framework)
    request = await with_distributions(uv, request)
    lines = await resolve(uv, request)
    is_new = False

    def on_start() -> None:
        nonlocal is_new
        is_new = True
        progress.building(framework, _summary(request, lines))

    on_wait = partial(progress.waiting, framework)
    installed = await build(store, uv, request.framework, lines, on_start=on_start, on_wait=on_wait)
    await asyncio.to_thread(store.save_resolution, request, installed)
    return installed, is_new


def _summary(request: BuildRequest, lines: tuple[str, ...]) -> str:
    package = request.framework.packages[0]
    version = locked_version(lock_text(lines), package)
    return f"{f'{package} {version}, ' if version else ''}{number_of(len(lines), 'package')}"


def _unwritable(error: OSError, store: EnvironmentStore) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = f"{'free some space, or ' if full else ''}name another folder with --env-dir"
    return f"{error.filename or store.folder}: {error.strerror}; {advice}"


def _raise(failures: list[BaseException]) -> None:
    """Raise the failures; several of EnvironmentFailed as one."""
    for failure in failures:
        if not isinstance(failure, EnvironmentFailed):
            raise failure
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise EnvironmentFailed("\n".join(map(str, failures)))


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
        uv = Uv(store.folder, lambda: None)
        installed = await build(store, uv, spec, lines, on_start=lambda: None, on_wait=lambda: None)
    return installed.environment


async def needed_environments(labels: Sequence[str], store: EnvironmentStore, *, build: bool) -> dict[str, Environment]:
    """Return the environments of the frameworks that cannot run in this interpreter.

    Raises:
        EnvironmentFailed: one has none yet and is not to be built, or cannot be built; says what to do.
    """
    specs = {label: FrameworkSpec.parse(label) for label in labels if not runs_here(label)}
    requests = [BuildRequest(spec) for spec in {spec.text: spec for spec in specs.values()}.values()]
    found = {request.framework.text: store.find(request) for request in requests}
    installed = {framework: environment for framework, environment in found.items() if environment is not None}
    missing = [request for request in requests if request.framework.text not in installed]
    for request in missing:
        spec = request.framework
        check_name(spec)
        if not build:
            raise EnvironmentFailed(
                f"{spec.text} is not installed here: build an environment for it with `bench env add {spec.text}` "
                f"(evaluate does so with build=True), or install it next to Trialbed: "
                f"`{install_command(spec.name, *spec.pins)}`"
            )
    if missing:
        make_folder(store.folder, "TRIALBED_ENV_DIR", shared=True)
        installed |= await provide(store, missing, BuildSteps())
    return {label: installed[spec.text].environment for label, spec in specs.items()}
