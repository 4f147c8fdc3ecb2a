"""The main loop of a worker: load the adapter, then run trials until there are no more."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import platform
import sys
import traceback
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, TypeVar

from trialbed.contracts import AGENT_CONTRACT, BaseAgent
from trialbed.drivers import DriverInfo, driver_info, load_driver
from trialbed.errors import DriverBroken, DriverError, DriverNotFound
from trialbed.installed import installed_packages
from trialbed.records import Deviation, FrameworkInfo, Outcome, TrialSpec
from trialbed.tools import TOOL_TIMEOUT, BlockingClient, tls_for
from trialbed.tracebacks import own_line
from trialbed.wire._httpx import httpx
from trialbed.worker._channel import Channel
from trialbed.worker._messages import Begin, BeginPrepared, ClockSwitch, Done, Failed, Hello, Prepare, Ready, Started
from trialbed.worker._proxies import ask_directly
from trialbed.worker._state import ProcessState
from trialbed.worker._supervisor import SUPERVISED
from trialbed.worker._trial import WorkerTrial, failure_of

LAST_RESORT = 3600.0
"""Seconds past its limit after which a trial ends its worker, if the engine is gone and the code never yields.

A worker that has a supervisor is ended by it at once.
"""

T = TypeVar("T")

SETTLE = 1.0
"""Seconds in which leaked tasks must end after they are cancelled."""


def serve(framework: str, command: str | None = None) -> int:
    """Serve one executor over the standard streams; returns the exit code.

    Args:
        command: a ``CommandSpec`` in JSON, of a program to run instead of an adapter.
    """
    channel = Channel.take_over()
    hello = channel.receive()
    if not isinstance(hello, Hello):
        sys.stderr.write("trialbed.worker: the first line must be hello; workers are started by an executor\n")
        return 2
    try:
        agent_class, info = load_agent(framework) if command is None else command_agent(framework, command)
    except Exception as error:  # noqa: BLE001 - any error of an adapter on import is reported, not hidden
        name = type(error).__name__ if isinstance(error, DriverError) else DriverBroken.__name__
        detail = "".join(traceback.format_exception(error))
        channel.send(Failed(nonce=hello.nonce, error=name, message=str(error), detail=detail))
        return 0
    # All that was loaded until here stays: to look through it for garbage takes longer than a short trial.
    gc.freeze()
    channel.send(Ready(nonce=hello.nonce, info=info))
    return _run_trials(channel, hello.nonce, agent_class)


def load_agent(framework: str) -> tuple[type[BaseAgent], FrameworkInfo]:
    """Load the adapter of a framework, and describe it.

    Args:
        framework: ``NAME:PROFILE``, or ``NAME`` for the its only or its native profile.

    Raises:
        DriverError: it cannot be used.
    """
    entry = _entry(framework)
    loaded: type[BaseAgent] = load_driver("frameworks", entry.name, AGENT_CONTRACT)
    wrong = next((item for item in loaded.deviations if not isinstance(item, Deviation)), None)
    if wrong is not None:
        raise DriverBroken(
            f"frameworks: {framework!r} of {entry.distribution} {entry.version}: {loaded.__name__}.deviations holds a "
            f"{type(wrong).__name__}; declare trialbed.Deviation(check=…, text=…)"
        )
    return loaded, _info(entry, loaded)


def command_agent(name: str, command: str) -> tuple[type[BaseAgent], FrameworkInfo]:
    """The agent that runs a program, and its description."""
    from trialbed import __version__
    from trialbed.worker._command import CommandAgent
    from trialbed.worker._messages import CommandSpec

    class NamedAgent(CommandAgent):
        command: ClassVar[CommandSpec]

    NamedAgent.command = CommandSpec.model_validate_json(command)
    info = FrameworkInfo(
        name=name,
        version=NamedAgent.framework_version(),
        adapter="trialbed",
        adapter_version=__version__,
        python=platform.python_version(),
    )
    return NamedAgent, info


def _entry(framework: str) -> DriverInfo:
    with suppress(DriverNotFound):
        return driver_info("frameworks", framework)
    # Its message also says how to install the adapter. Imported here, since it would slow every worker down.
    from trialbed.environments import adapter_info

    return adapter_info(framework)


def _info(entry: DriverInfo, agent_class: type[BaseAgent]) -> FrameworkInfo:
    return FrameworkInfo(
        name=entry.name,
        version=_version(entry, agent_class),
        adapter=entry.distribution,
        adapter_version=entry.version,
        python=platform.python_version(),
        deviations=tuple(agent_class.deviations),
        packages=installed_packages(),
        dialect=agent_class.dialect,
        finish_tool=agent_class.finish_tool,
    )


def _version(entry: DriverInfo, agent_class: type[BaseAgent]) -> str:
    try:
        return agent_class.framework_version()
    except Exception as error:
        raise DriverBroken(
            f"frameworks: {entry.name!r} of {entry.distribution} {entry.version}: "
            f"{agent_class.__name__}.framework_version() fails: {type(error).__name__}: {error}"
            f"{own_line(entry.target.partition(':')[0], error)}"
        ) from error


def _run_trials(channel: Channel, nonce: str, agent_class: type[BaseAgent]) -> int:
    trials = _Trials(channel, nonce, agent_class)
    while trials.obey(channel.receive()):
        pass
    return 0


class _Trials:
    """Runs trials one at a time, and makes the agent of the next one ahead on request."""

    def __init__(self, channel: Channel, nonce: str, agent_class: type[BaseAgent]) -> None:
        self._channel, self._nonce, self._agent_class = channel, nonce, agent_class
        # Never closed: closing waits for tasks that resist cancellation. The process ends without it.
        self._runner = asyncio.Runner()
        self._client: httpx.AsyncClient | None = None
        self._blocking = BlockingClient()
        self._state = ProcessState()
        self._prepared: WorkerTrial | None = None

    def obey(self, command: Hello | Begin | Prepare | BeginPrepared) -> bool:
        """Carry out a command; returns whether the worker can carry out others.

        Raises:
            TypeError: it makes no sense now.
        """
        trial, self._prepared = self._prepared, None
        match command:
            case BeginPrepared(trial=token) if trial is not None and trial.spec.trial == token:
                return self._run(trial)
            case Begin(spec=spec):
                return self._drop(trial) and self._run(self._trial(spec))
            case Prepare(spec=spec) if self._drop(trial):
                self._prepared = self._trial(spec)
                _in_loop(self._runner, self._prepared.prepare(self._agent_class), self._prepared)
                return True
            case Prepare():
                return False
            case _:
                raise TypeError(f"{command.type} makes no sense now")

    def _trial(self, spec: TrialSpec) -> WorkerTrial:
        ask_directly(spec.server_url)
        clock = partial(_tell_time, self._channel, self._nonce, spec.trial)
        return WorkerTrial(spec, self._channel.owner_only, clock)

    def _drop(self, trial: WorkerTrial | None) -> bool:
        """Forget a trial that was prepared; returns whether it has left nothing."""
        if trial is None:
            return True
        _in_loop(self._runner, trial.drop(), trial)
        return _cancel_leaked_tasks(self._runner) and trial.close_error is None

    def _run(self, trial: WorkerTrial) -> bool:
        spec = trial.spec
        self._channel.send(Started(nonce=self._nonce, trial=spec.trial))
        if not SUPERVISED:
            faulthandler.dump_traceback_later(spec.limits.timeout + LAST_RESORT, exit=True)
        self._client = self._client or httpx.AsyncClient(timeout=TOOL_TIMEOUT, verify=tls_for(spec.server_url))
        outcome = _run_trial(self._runner, trial, self._agent_class, self._client, self._blocking)
        spent = "" if _cancel_leaked_tasks(self._runner) else "the trial left tasks that cannot be cancelled"
        spent = spent or self._state.change() or _closing(trial)
        faulthandler.cancel_dump_traceback_later()
        self._channel.send(Done(nonce=self._nonce, trial=spec.trial, outcome=outcome, spent=spent))
        return not spent


def _closing(trial: WorkerTrial) -> str:
    """Say how the trial's agent could not be closed, as it may still hold things; empty if it was."""
    error = trial.close_error
    return "" if error is None else f"close() raised {failure_of(error).message}; the trial stays as it is"


def _tell_time(channel: Channel, nonce: str, trial: str, running: bool) -> None:
    channel.send(ClockSwitch(nonce=nonce, trial=trial, running=running))


def _run_trial(
    runner: asyncio.Runner,
    trial: WorkerTrial,
    agent_class: type[BaseAgent],
    client: httpx.AsyncClient,
    blocking: BlockingClient,
) -> Outcome:
    try:
        return _in_loop(runner, trial.run(agent_class, client, blocking), trial)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of an agent are its own failure
        return trial.failed(error)


def _in_loop(runner: asyncio.Runner, work: Coroutine[Any, Any, T], trial: WorkerTrial) -> T:
    """Do a trial's work in its own context: `runner.run` has one for all, and takes long to prepare for Ctrl-C."""
    loop = runner.get_loop()
    return loop.run_until_complete(loop.create_task(work, context=trial.context))


def _cancel_leaked_tasks(runner: asyncio.Runner) -> bool:
    """Cancel the tasks that the trial left; returns whether all ended. If not, the worker must run no other trial."""
    loop = runner.get_loop()
    try:
        # One turn, for work that the trial's end has put off, such as the closing of connections.
        loop.call_soon(loop.stop)
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        return not tasks or runner.run(_cancel(tasks))
    except BaseException:  # noqa: BLE001 - a leaked task may raise SystemExit; then the worker is not used again
        traceback.print_exc()
        return False


async def _cancel(tasks: set[asyncio.Task[object]]) -> bool:
    for task in tasks:
        task.cancel()
    _, pending = await asyncio.wait(tasks, timeout=SETTLE)
    return not pending
