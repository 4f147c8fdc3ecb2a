"""Running uv."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from trialbed.environments._reason import is_network, reason
from trialbed.errors import EnvironmentFailed

UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_SYSTEM_PYTHON", "UV_PYTHON", "UV_PROJECT")
"""Variables that would have uv work on another environment than the one it is given."""


class UvFailed(Exception):
    """uv ended with an error; holds what it wrote."""

    def __init__(self, stderr: str) -> None:
        super().__init__(reason(stderr))
        self.stderr = stderr


def find_uv() -> str | None:
    """The path of uv: the package's beside this interpreter, else the one on ``PATH``."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv")


class Uv:
    """uv, run in a folder without anybody's project settings.

    Without a network it is asked again to make do with its cache, and from then on at once.

    Args:
        on_offline: called when the network turns out to be absent.

    Raises:
        EnvironmentFailed: there is no uv.
    """

    def __init__(self, folder: Path, on_offline: Callable[[], None]) -> None:
        binary = find_uv()
        if binary is None:
            raise EnvironmentFailed("uv is not found, which builds environments; install it with `pip install uv`")
        self._binary = binary
        self._folder = folder
        self._on_offline = on_offline
        self._offline = False

    async def __call__(self, *arguments: str, given: str = "") -> str:
        """Run uv with these arguments, ``given`` on its standard input; returns what it printed.

        Raises:
            UvFailed: it ended with an error.
        """
        if self._offline:
            return await self._run("--offline", *arguments, given=given)
        try:
            return await self._run(*arguments, given=given)
        except UvFailed as failure:
            if not is_network(failure.stderr):
                raise
            self._on_offline()
            self._offline = True
            try:
                return await self._run("--offline", *arguments, given=given)
            except UvFailed as again:
                raise UvFailed(f"{failure.stderr}\nWithout a network: {again}") from again

    async def _run(self, *arguments: str, given: str) -> str:
        process = await asyncio.create_subprocess_exec(
            self._binary,
            "--color=never",
            "--no-progress",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(os.environ),
            cwd=self._folder,
            # Ctrl-C is this process's to handle: uv is ended when the build is given up.
            start_new_session=True,
        )
        try:
            out, err = await process.communicate(given.encode())
        except asyncio.CancelledError:
            await _end(process)
            raise
        if process.returncode != 0:
            raise UvFailed(err.decode(errors="replace"))
        return out.decode()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End uv and what it started (the builds of source distributions)."""
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in UNWANTED}
