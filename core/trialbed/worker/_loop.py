"""The main loop of a worker: load the adapter, then run trials until there are no more."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import platform
import sys
import traceback
from contextlib import suppress
from functools import partial
from typing import ClassVar

from trialbed.contracts import AGENT_CONTRACT, BaseAgent
from trialbed.drivers import DriverInfo, driver_info, load_driver
from trialbed.errors import DriverBroken, DriverError, DriverNotFound
from trialbed.installed import installed_packages
from trialbed.records import Deviation, FrameworkInfo, Outcome
from trialbed.tools import TOOL_TIMEOUT, BlockingClient
from trialbed.tracebacks import own_line
from trialbed.wire._httpx import httpx, tls_for
from trialbed.worker._channel import Channel
from trialbed.worker._messages import Begin, ClockSwitch, Done, Failed, Hello, Ready, Started
from trialbed.worker._proxies import ask_directly
from trialbed.worker._state import ProcessState
from trialbed.worker._supervisor import SUPERVISED
from trialbed.worker._trial import WorkerTrial, failure_of

LAST_RESORT = 3600.0
"""Seconds past its limit after which a trial ends its worker, if the engine is gone and the code never yields.

A worker that has a supervisor is ended by it at once.
"""

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
    # A framework's modules stay: to look through ever more of them for garbage takes a fifth of the time of the import.
    gc.disable()
    try:
        agent_class, info = load_agent(framework) if command is None else command_agent(framework, command)
    except Exception as error:  # noqa: BLE001 - any error of an adapter on import is reported, not hidden
        name = type(error).__name__ if isinstance(error, DriverError) else DriverBroken.__name__
        detail = "".join(traceback.format_exception(error))
        channel.send(Failed(nonce=hello.nonce, error=name, message=str(error), detail=detail))
        return 0
    # All that was loaded until here stays: to look through it for garbage takes longer than a short trial.
    gc.freeze()
    gc.enable()
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
    # Never closed: closing waits for tasks that resist cancellation. The process ends without it.
    runner = asyncio.Runner()
    client, blocking = None, BlockingClient()
    state = ProcessState()
    while True:
        command = channel.receive()
        if not isinstance(command, Begin):
            raise TypeError("hello was sent twice")
        spec = command.spec
        channel.send(Started(nonce=nonce, trial=spec.trial))
        if not SUPERVISED:
            faulthandler.dump_traceback_later(spec.limits.timeout + LAST_RESORT, exit=True)
        ask_directly(spec.server_url)
        client = client or httpx.AsyncClient(timeout=TOOL_TIMEOUT, verify=tls_for(spec.server_url))
        trial = WorkerTrial(spec, channel.owner_only, partial(_tell_time, channel, nonce, spec.trial))
        outcome = _run_trial(runner, trial, agent_class, client, blocking)
        spent = "" if _cancel_leaked_tasks(runner) else "the trial left tasks that cannot be cancelled"
        spent = spent or state.change() or _closing(trial)
        faulthandler.cancel_dump_traceback_later()
        channel.send(Done(nonce=nonce, trial=spec.trial, outcome=outcome, spent=spent))
        if spent:
            return 0


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
        # `runner.run` would have all trials share one context, and take a tenth of a millisecond to prepare for Ctrl-C.
        return runner.get_loop().run_until_complete(trial.run(agent_class, client, blocking))
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of an agent are its own failure
        return trial.failed(error)


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
