"""Starts workers, in a sandbox or without one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trialbed.contracts import Sandbox
from trialbed.errors import UsageError
from trialbed_plugins.executors.sandbox._server import CONTAINER, ServerAddress

if TYPE_CHECKING:
    from trialbed_plugins.executors.sandbox._interpreters import Interpreter

REPORT = 1 << 16
"""The largest size of a launcher's report, in bytes."""


@dataclass(frozen=True)
class Launch:
    """A command that is ready to be started.

    Attributes:
        descriptors: open files that the process must inherit.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    sandbox: Sandbox | None = None
    _report: int = -1

    @property
    def shell_codes(self) -> bool:
        """Return whether a worker that a signal ended is reported with the exit code 128 + its number, as shells do."""
        return self.sandbox is not None and self.sandbox.mode == CONTAINER

    def held(self) -> tuple[str, ...]:
        """The mechanisms of the sandbox that hold, as the launcher found before anything of the worker was loaded.

        Empty without a sandbox, and if there is no worker in it: because it could not be made, or not yet.
        """
        if self._report < 0:
            return ()
        try:
            return tuple(json.loads(os.read(self._report, REPORT)))
        except (BlockingIOError, ValueError):
            return ()


@contextmanager
def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    sandbox: Sandbox | None,
    server: ServerAddress | None,
    *,
    environment_lock: str | None = None,
    files: Sequence[Path] = (),
) -> Iterator[Launch]:
    """Prepare the start of a worker. Leave the context once the worker is ready: it closes the descriptors.

    Args:
        command: of the worker.
        environment: of the worker.
        folder: the worker's own, the only one that it may write to.
        server: the only one that the worker may connect to; needed if there is a sandbox.
        environment_lock: the lock of the worker's own environment; None if it runs in this interpreter.
        files: those that the worker may read beside its interpreter.

    Raises:
        UsageError: the sandbox cannot reach a server there, or a folder that must be hidden holds the worker's
            packages.
        SandboxUnavailable: something that the sandbox needs is missing.
    """
    if sandbox is None or server is None:
        yield Launch(command, environment)
        return
    # Most runs have no sandbox, and need none of this.
    from trialbed_plugins.executors.sandbox import _container, _process
    from trialbed_plugins.executors.sandbox._inside import (
        Descriptors,
        SandboxedWorker,
        make_folders,
        sandboxed_environment,
    )
    from trialbed_plugins.executors.sandbox._interpreters import environment_interpreter, own_interpreter

    python_path = environment.get("PYTHONPATH", "")
    own = environment_lock is None
    interpreter = own_interpreter(python_path) if own else environment_interpreter(command[0], environment_lock or "")
    given = [path for path in _with_targets(files) if path.exists()]
    interpreter = replace(
        interpreter,
        readable=(*interpreter.readable, *given),
        needed=(*interpreter.needed, *filter(Path.is_file, given)),
    )
    _check_hidden(sandbox, interpreter)
    server.check(sandbox.mode)
    with Descriptors() as descriptors:
        readable, writable = descriptors.pipe()
        worker = SandboxedWorker(command, folder, interpreter, sandbox.hidden, server, descriptors, writable)
        make_folders(folder)
        parts = (_container if sandbox.mode == CONTAINER else _process).command(worker)
        yield Launch(parts, sandboxed_environment(environment, folder), descriptors.passed, sandbox, readable)


def _with_targets(files: Sequence[Path]) -> list[Path]:
    """Files, and what they are links to."""
    return [place for path in files for place in dict.fromkeys((path, path.resolve()))]


def _check_hidden(sandbox: Sandbox, interpreter: Interpreter) -> None:
    for path in sandbox.hidden:
        inside = next((other for other in interpreter.readable if path in other.parents), None)
        if inside is not None:
            raise UsageError(
                f"--sandbox {sandbox.mode}: workers must not see {path}, but need {inside}, which is in it; "
                "name another folder with --output, --data-dir or --store, or in the file of tasks that names it"
            )
