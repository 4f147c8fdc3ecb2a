"""The contract of an executor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import ClassVar, Self

from trialbed.agent_programs import AgentCommand
from trialbed.errors import TrialbedError, UsageError
from trialbed.records import Environment, Failure, FrameworkInfo, Outcome, TrialSpec


@dataclass(frozen=True)
class LostTrial:
    """Returned instead of an outcome if the node is gone, and the end of the trial is unknown.

    The engine runs it again as a new trial, under a new token. It is neither a failure of the framework nor a sign that
    the server or the model's endpoint is down.

    Attributes:
        node: its name.
        reason: why it is gone, in words.
    """

    node: str
    reason: str

    def outcome(self) -> Outcome:
        """Return it as the outcome of a trial that was not measured."""
        failure = Failure(kind="lost", message=f"{self.node or 'the node'} was lost: {self.reason}")
        return Outcome(started_at=datetime.now(UTC), wall_time=0.0, failure=failure, node=self.node)


class Executor(ABC):
    """Runs trials in workers; an async context manager that owns them.

    A driver of the group ``trialbed.executors`` is a subclass.

    Args:
        environments: framework -> its own environment; a framework that is not in it runs in this interpreter.

    Attributes:
        reuses_workers: whether a trial may run in a process that ran others. If a trial fails there before it asks the
            model anything, it is repeated once, with ``TrialSpec.fresh``.
        runs_commands: whether it can run programs without an adapter.
        runs_sandboxed: whether it can put workers into a sandbox.
        hidden: set by the engine before it is entered: the files and folders that workers in a sandbox must not see,
            such as the store, results and datasets; None for workers without a sandbox.
        option_names: name of an option -> its meaning in a line; ``--executor-option`` takes these and no others.
        remote: whether workers are on other machines, which cannot reach this one's loopback.
        commands: set by the engine before it is entered: label in the run -> the program that runs under it.
        options: set by the engine before it is entered: the user's options, by name.
        concurrency: set by the engine before it is entered: the largest number of concurrent trials in the run.
        waited: set by the engine before the first trial: returns how many seconds a trial has spent waiting for failed
            model requests to be repeated. A trial's deadline is that much later, since no framework is to blame for it.
    """

    reuses_workers: ClassVar[bool] = False
    runs_commands: ClassVar[bool] = False
    runs_sandboxed: ClassVar[bool] = False
    option_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    remote: ClassVar[bool] = False
    concurrency: int = 1
    hidden: tuple[Path, ...] | None = None
    waited: Callable[[str], Awaitable[float]] | None = None

    def __init__(self, *, environments: Mapping[str, Environment] | None = None) -> None:
        self.environments = dict(environments or {})
        self.commands: dict[str, AgentCommand] = {}
        self.options: dict[str, str] = {}

    @classmethod
    def check_options(cls, options: Mapping[str, str]) -> None:
        """See that options can be used, before anything is started.

        Raises:
            UsageError: one cannot; says which values it may have.
        """
        unknown = next((name for name in options if name not in cls.option_names), None)
        if unknown is not None:
            known = ", ".join(cls.option_names) or "none"
            raise UsageError(f"--executor-option {unknown}: this executor has no such option (those it has: {known})")

    @classmethod
    def check_sandbox(cls, hidden: Sequence[Path] = (), server_url: str | None = None) -> tuple[str, ...]:  # noqa: ARG003 - nothing to try
        """Try the sandbox before a run depends on it, and return the mechanisms that hold.

        Args:
            hidden: files and folders that workers must not see.
            server_url: the server's address, if that is known already.

        Raises:
            UsageError: workers in the sandbox cannot reach the server, or need a hidden folder.
            SandboxUnavailable: something that the sandbox needs is missing; says what, and how to get it.
        """
        return ()

    def connect(self, server_url: str) -> None:  # noqa: B027 - most need not know
        """Learn the server's address, the only place that sandboxed workers can connect to.

        The engine calls this once, before the first trial; it may have asked for descriptions before.
        """

    def server_host(self) -> str | None:
        """Return the address of this machine that workers reach a server at; None for its loopback.

        The engine asks once, when the executor is entered, and starts the server of the run there. A server given with
        ``--server-url`` stays at its own address.
        """
        return None

    async def time_waited(self, trial: str) -> float:
        """Return the seconds that the deadline of a trial is later, or 0 if they are not known."""
        if self.waited is None:
            return 0.0
        try:
            return await self.waited(trial)
        except TrialbedError:
            # Closing the trial fails in the same way, and says why.
            return 0.0

    async def __aenter__(self) -> Self:
        return self

    @abstractmethod
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every worker and all that it started."""

    @abstractmethod
    async def describe(self, framework: str) -> FrameworkInfo:
        """Start a worker of this framework and return its report.

        An executor with several machines starts a worker on each, and compares their reports (``difference``). It does
        not run trials on a machine with a different report.

        Args:
            framework: the label in the run: the driver's name, with a release if one was asked for.

        Raises:
            DriverError: the adapter is missing, broken, of another contract, or not the same everywhere.
            NothingMeasured: there is no machine.
        """

    @abstractmethod
    async def execute(self, spec: TrialSpec) -> Outcome | LostTrial:
        """Run one trial in a worker of its framework; never raises for a fault of the trial.

        The caller bounds how many run concurrently. A crash, hang, leak or garbage ends as ``Outcome.failure``. The
        first trial of a worker process has ``Outcome.first``, and its times are reported separately. The call waits
        while no machine has room.

        Raises:
            NothingMeasured: no machine is left, and none comes. The run ends, and the same command goes on with it.
        """


SAME = ("version", "adapter", "adapter_version", "python", "lock_digest", "sandbox", "packages")
"""The fields of a framework's description that must be equal wherever its trials run."""

MOST_PACKAGES = 3
"""The most packages that a difference names."""


def difference(first: FrameworkInfo, second: FrameworkInfo, fields: Sequence[str] = SAME) -> str:
    """Describe the first difference between two descriptions of a framework; empty if they are equal."""
    for name in fields:
        one, other = getattr(first, name), getattr(second, name)
        if one == other:
            continue
        if isinstance(one, tuple):
            one, other = (
                ", ".join(sorted({*mine} - {*theirs})[:MOST_PACKAGES]) or "none"
                for mine, theirs in ((one, other), (other, one))
            )
        return f"{first.name}: {name.replace('_', ' ')} {one} and {other}"
    return ""
