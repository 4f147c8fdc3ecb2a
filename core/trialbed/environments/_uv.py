"""Runs uv, and finds the reason of a failure in its output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from trialbed.child_processes import end_process
from trialbed.environments._requirements import without_credentials
from trialbed.errors import EnvironmentFailed
from trialbed.settings import REDACTED
from trialbed.wire.redaction import redact

UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_SYSTEM_PYTHON", "UV_PYTHON", "UV_PROJECT")
"""Variables that would make uv work on another environment than the one it is given."""

SPACE_AND_NETWORK = (
    "uv needs space in the folders of --env-dir and UV_CACHE_DIR, and a network unless its cache has every package."
)
"""Advice for failures that the machine causes."""

MAX_LENGTH = 1500
"""Characters of a reason that are shown."""

_MARK = re.compile(r"^[\s\u00d7╰├│─▶]*(?P<word>error:|cause:|Caused by:|hint:)?\s*")
_NEW = re.compile(r"^\s*([\u00d7╰├]|error:|cause:|Caused by:|hint:)")
_PROGRESS = re.compile(r"^\s*(warning:|Resolved |Prepared |Installed |Building |Built |Using |Downloading )")
_NETWORK = re.compile(
    r"error sending request|dns error|tcp connect error|client error \(Connect\)|Could not connect"
    r"|operation timed out|Request failed after|Network is unreachable|Connection refused",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"network was disabled|No space left on device|quota exceeded|Read-only file system|Permission denied",
    re.IGNORECASE,
)


class UvFailed(Exception):
    """uv ended with an error; holds its output."""

    def __init__(self, stderr: str) -> None:
        super().__init__(failure_reason(stderr))
        self.stderr = stderr


def find_uv() -> str | None:
    """The path of uv: the package's beside this interpreter, else the one on ``PATH``."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv")


class Uv:
    """uv, run in a folder where no project's settings apply.

    Without a network it is run again with its cache alone, and from then on at once.

    Args:
        on_offline: called when there turns out to be no network.

    Raises:
        EnvironmentFailed: uv is not installed.
    """

    def __init__(self, folder: Path, on_offline: Callable[[], None]) -> None:
        binary = find_uv()
        if binary is None:
            raise EnvironmentFailed("uv, which builds environments, was not found; install it with `pip install uv`")
        self._binary = binary
        self._folder = folder
        self._on_offline = on_offline
        self._offline = False

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run uv with these arguments; returns its output.

        Args:
            stdin: its standard input.

        Raises:
            UvFailed: it ended with an error.
        """
        if self._offline:
            return await self._run("--offline", *arguments, stdin=stdin)
        try:
            return await self._run(*arguments, stdin=stdin)
        except UvFailed as failure:
            if not is_network_failure(failure.stderr):
                raise
            self._on_offline()
            self._offline = True
            try:
                return await self._run("--offline", *arguments, stdin=stdin)
            except UvFailed as again:
                raise UvFailed(f"{failure.stderr}\nWithout a network: {again}") from again

    async def _run(self, *arguments: str, stdin: str) -> str:
        process = await asyncio.create_subprocess_exec(
            self._binary,
            "--color=never",
            "--no-progress",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if name not in UNWANTED},
            cwd=self._folder,
            # Ctrl-C is this process's to handle: uv is ended when the build is cancelled.
            start_new_session=True,
        )
        try:
            out, err = await process.communicate(stdin.encode())
        except asyncio.CancelledError:
            await _end(process)
            raise
        if process.returncode != 0:
            raise UvFailed(err.decode(errors="replace"))
        return out.decode()


def is_network_failure(stderr: str) -> bool:
    """Return whether uv failed for lack of a network."""
    return _NETWORK.search(stderr) is not None


def is_machine_failure(stderr: str) -> bool:
    """Return whether uv failed because of the network or the disk, and not because of the requirements."""
    return is_network_failure(stderr) or _MACHINE.search(stderr) is not None


def failure_reason(stderr: str) -> str:
    """The output of uv as one paragraph, without decoration, progress and secrets."""
    sentences: list[str] = []
    for line in without_credentials(redact(stderr), f"{REDACTED}@").splitlines():
        text = line[len(mark[0]) if (mark := _MARK.match(line)) else 0 :].strip()
        if not text or _PROGRESS.match(line):
            continue
        if _NEW.match(line) or not sentences:
            sentences.append(f"(hint: {text})" if mark and mark["word"] == "hint:" else text)
        else:
            sentences[-1] += f" {text}"
    return _shorten(_join(sentences)) or "uv gave no reason"


def _join(sentences: list[str]) -> str:
    text = ""
    for sentence in sentences:
        text += sentence if not text else f" {sentence}" if sentence.startswith("(") else f": {sentence}"
    return re.sub(r":+ ?:", ":", text)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH // 2]} […] {text[-MAX_LENGTH // 2 :]}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """End uv and the processes that it started (the builds of source distributions)."""
    with contextlib.suppress(ProcessLookupError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
    await end_process(process)
