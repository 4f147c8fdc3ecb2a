"""The sandbox of a run: what workers must not see, and whether it can be made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trialbed.contracts import Executor, Sandbox
from trialbed.errors import UsageError
from trialbed.settings import SANDBOXES, RunSettings

BESIDE = ("", "-journal", "-shm", "-wal")
"""What SQLite appends to the name of a database for the files beside it."""


def run_sandbox(settings: RunSettings) -> Sandbox | None:
    """The sandbox that is asked for; None for none."""
    return (
        None if settings.sandbox == SANDBOXES[0] else Sandbox(settings.sandbox, tuple(dict.fromkeys(_hidden(settings))))
    )


def check_run_sandbox(settings: RunSettings, executor: type[Executor] | None) -> None:
    """See that the sandbox that is asked for can be made here, before anything is started for it.

    Args:
        executor: None if the agent is an object of this process.

    Raises:
        UsageError: there is no such sandbox, or the executor or the server does not go with it.
        SandboxUnavailable: something that it needs is missing; says what, and how to get it.
    """
    sandbox = run_sandbox(settings)
    if sandbox is None:
        return
    if sandbox.mode not in SANDBOXES:
        raise UsageError(f"--sandbox: {sandbox.mode!r} is not one of {', '.join(SANDBOXES)}")
    if executor is None:
        raise UsageError("--sandbox: an agent that is an object of this process cannot be put into a sandbox")
    if sandbox.mode not in executor.sandboxes:
        raise UsageError(f"--sandbox {sandbox.mode}: the executor {settings.executor!r} does not offer it")
    executor.check_sandbox(sandbox, settings.server_url)


def _hidden(settings: RunSettings) -> Iterator[Path]:
    for database in (settings.store, str(settings.response_cache)):
        if "://" not in database:
            path = Path(database).resolve()
            yield from (path.with_name(path.name + ending) for ending in BESIDE)
    yield settings.output.resolve()
    yield settings.data_dir.resolve()
    if Path(settings.dataset).is_file():
        yield Path(settings.dataset).resolve()
    folder = Path.cwd()
    yield from (parent / ".env" for parent in (folder, *folder.parents) if (parent / ".env").exists())
