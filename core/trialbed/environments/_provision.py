"""Giving each request its environment: the one on the shelf, or a new one."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Iterable
from functools import partial

from trialbed.environments._building import build
from trialbed.environments._built import Built
from trialbed.environments._holding import held
from trialbed.environments._lock import lock_text, locked_version
from trialbed.environments._progress import Progress
from trialbed.environments._request import Request
from trialbed.environments._resolution import resolve
from trialbed.environments._shelf import Shelf
from trialbed.environments._uv import Uv
from trialbed.errors import EnvironmentFailed

AT_A_TIME = 4
"""Environments that are built at the same time."""


async def provide(shelf: Shelf, requests: Iterable[Request], progress: Progress) -> dict[str, Built]:
    """The environment of each request under its label; what is missing is built, several at a time.

    Raises:
        EnvironmentFailed: one could not be had. The others were built all the same.
    """
    slots = asyncio.Semaphore(AT_A_TIME)

    async def one(request: Request) -> Built:
        async with slots:
            return await _provided(shelf, request, progress)

    wanted = list(requests)
    ended = await asyncio.gather(*map(one, wanted), return_exceptions=True)
    failures = [failure for failure in ended if isinstance(failure, BaseException)]
    _raise(failures)
    return {request.label.text: built for request, built in zip(wanted, ended, strict=True) if isinstance(built, Built)}


async def _provided(shelf: Shelf, request: Request, progress: Progress) -> Built:
    label = request.label.text
    began = time.monotonic()
    is_new = False
    try:
        # Without a lock at first: what is built can be found in a folder that nobody may write to.
        built = _found(shelf, request)
        if built is None:
            # One process at a time answers a request; the next finds the answer.
            async with held(shelf.file_lock(request.key), partial(progress.waiting, label)):
                built = _found(shelf, request)
                if built is None:
                    built, is_new = await _made(shelf, shelf.recalled(request), progress)
    except OSError as error:
        progress.failed(label)
        raise EnvironmentFailed(f"{label}: its environment cannot be built: {_unwritable(error, shelf)}") from error
    except BaseException:
        progress.failed(label)
        raise
    progress.ready(label, built, time.monotonic() - began if is_new else None)
    return built


def _found(shelf: Shelf, request: Request) -> Built | None:
    return None if request.refresh or request.lock else shelf.find(request)


def _unwritable(error: OSError, shelf: Shelf) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    way_out = f"{'free some space, or ' if full else ''}name another folder with --env-dir"
    return f"{error.filename or shelf.folder}: {error.strerror}; {way_out}"


async def _made(shelf: Shelf, request: Request, progress: Progress) -> tuple[Built, bool]:
    """The environment that the request resolves to, and whether it had to be built."""
    label = request.label.text
    uv = Uv(shelf.folder, partial(progress.offline, label))
    progress.resolving(label)
    lines = await resolve(uv, request)
    is_new = False

    def begun() -> None:
        nonlocal is_new
        is_new = True
        progress.building(label, _summary(request, lines))

    waiting = partial(progress.waiting, label)
    built = await build(shelf, uv, request.label, lines, begun=begun, waiting=waiting)
    await asyncio.to_thread(shelf.note, request, built)
    return built, is_new


def _summary(request: Request, lines: tuple[str, ...]) -> str:
    package = request.label.packages[0]
    version = locked_version(lock_text(lines), package)
    return f"{f'{package} {version}, ' if version else ''}{len(lines)} packages"


def _raise(failures: list[BaseException]) -> None:
    """Raise what went wrong, all of it in one if it is of our kind."""
    for failure in failures:
        if not isinstance(failure, EnvironmentFailed):
            raise failure
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise EnvironmentFailed("\n".join(map(str, failures)))
