"""The contract of an executor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from trialbed.agent_programs import AgentCommand
from trialbed.errors import TrialbedError
from trialbed.records import Environment, FrameworkInfo, Outcome, TrialSpec


@dataclass(frozen=True)
class Sandbox:
    """The sandbox of a run's workers.

    Attributes:
        mode: ``process`` or ``container``.
        hidden: what no worker may see, wherever it is: the store, results, datasets.
    """

    mode: str
    hidden: tuple[Path, ...] = ()


class Executor(ABC):
    """Runs trials in workers; an async context manager that owns them.

    A driver of the group ``trialbed.executors`` is a subclass.

    Args:
        environments: framework -> its own environment; a framework that is not in it runs in this interpreter.

    Attributes:
        reuses_workers: whether a trial may run in a process that ran others. If so, one that fails there before it asks
            the model anything is repeated once, with ``TrialSpec.fresh``.
        runs_commands: whether it can run programs without an adapter.
        sandboxes: the values of ``--sandbox`` that it can carry out.
        sandbox: set by the engine before it is entered: the sandbox of its workers; None for none.
        commands: set by the engine before it is entered: label in the run -> the program that runs under it.
        waited: set by the engine before the first trial: returns how many seconds a trial has spent waiting for failed
            model requests to be repeated. A trial's deadline is that much later, since no framework is to blame for it.
    """

    reuses_workers: ClassVar[bool] = False
    runs_commands: ClassVar[bool] = False
    sandboxes: ClassVar[tuple[str, ...]] = ("none",)
    sandbox: Sandbox | None = None
    waited: Callable[[str], Awaitable[float]] | None = None

    def __init__(self, *, environments: Mapping[str, Environment] | None = None) -> None:
        self.environments = dict(environments or {})
        self.commands: dict[str, AgentCommand] = {}

    @classmethod
    def check_sandbox(cls, sandbox: Sandbox, server_url: str | None = None) -> tuple[str, ...]:  # noqa: ARG003 - nothing to try
        """Try a sandbox before a run depends on it, and return the mechanisms that hold.

        Args:
            sandbox: one of ``sandboxes``.
            server_url: where the server is, if that is known already.

        Raises:
            UsageError: workers in this sandbox cannot reach the server.
            SandboxUnavailable: something that the sandbox needs is missing; says what, and how to get it.
        """
        return ()

    def connect(self, server_url: str) -> None:  # noqa: B027 - most need not know
        """Learn where the server is, the only place that sandboxed workers can connect to.

        The engine calls this once, before the first trial; it may have asked for descriptions before.
        """

    async def time_waited(self, trial: str) -> float:
        """Seconds by which the deadline of a trial is later; 0 where they are not known."""
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

        Args:
            framework: the label in the run: the driver's name, with a release if one was asked for.

        Raises:
            DriverError: the adapter is missing, broken or of another contract.
        """

    @abstractmethod
    async def execute(self, spec: TrialSpec) -> Outcome:
        """Run one trial in a worker of its framework; never raises for a fault of the trial.

        The caller bounds how many run at once. A crash, hang, leak or garbage ends as ``Outcome.failure``. The first
        trial of a worker process has ``Outcome.first``: its times are kept apart.
        """
