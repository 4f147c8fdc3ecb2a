"""The worker's process, which loads a framework's adapter and runs trials until there are no more."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import inspect
import os
import platform
import random
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from operator import is_
from queue import SimpleQueue
from threading import Thread
from types import ModuleType
from typing import Any, BinaryIO, NoReturn

from trialbed.answers import answer_names, read_answer
from trialbed.contracts import AGENT_CONTRACT, BaseAgent
from trialbed.conversation import converse
from trialbed.drivers import broken_message, driver_info, load_driver
from trialbed.errors import AnswerError, DriverBroken, DriverError, DriverNotFound, ModelFailed
from trialbed.installed import installed_packages
from trialbed.records import Answer, Failure, FailureKind, FrameworkInfo, Outcome, Record, TrialSpec
from trialbed.texts import record_json, whole_text
from trialbed.tools import Tool, ToolClient, connected_tools
from trialbed.tracebacks import foreign_traceback
from trialbed.wire.redaction import redact
from trialbed.worker._protocol import (
    WORKER_MARK,
    Begin,
    ClockSwitch,
    CommandFailed,
    CommandSpec,
    Done,
    Failed,
    Fork,
    Hello,
    Ready,
    Started,
    ask_directly,
    message_line,
    read_command,
)
from trialbed.worker._supervisor import SUPERVISED, fork_supervised

SETTLE = 1.0
"""Seconds for leaked tasks to end after they are cancelled."""

MAX_MESSAGE = 2_000
MAX_DETAIL = 16_000

WATCHED = (
    "aiohttp",
    "asyncio",
    "builtins",
    "concurrent",
    "http",
    "httpcore",
    "httpx",
    "io",
    "json",
    "os",
    "random",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "trialbed",
)
"""Packages that every trial relies on, without their private modules; code may change its own and other packages."""


MAX_REQUEST, ENDS = 1 << 16, 3
"""Bytes of a request for a fork, and the ends of pipes that come with it."""


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
    requests = None if hello.forks is None else socket.socket(fileno=hello.forks)
    if requests is not None:
        requests.set_inheritable(False)
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
    state, nonce = ProcessState(), hello.nonce
    # A fork has no other threads, so locks held by one would never be released there.
    forks = requests is not None and len(os.listdir("/proc/self/task")) == 1
    channel.send(Ready(nonce=nonce, info=info, forks=forks))
    if requests is not None:
        with requests:
            nonce = fork_workers(requests) if forks else nonce
    if forks:
        channel = Channel.take_over()
        channel.send(Ready(nonce=nonce, info=info))
    return _run_trials(channel, nonce, agent_class, state)


def fork_workers(requests: socket.socket) -> str:
    """Fork a worker for each request, and return in these alone, with their nonces. The process ends with its input."""
    import fcntl  # not there on Windows, which does not fork workers

    signal.signal(signal.SIGCHLD, lambda *_: _report_ended(requests))
    while True:
        line, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, ENDS)
        if not line:
            os._exit(0)
        try:
            child = os.fork()
        except OSError as error:
            child = -(error.errno or 1)
        if not child:
            break
        requests.send(b"%d" % child)
        for end in descriptors:
            os.close(end)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    fork = Fork.model_validate_json(line)
    # A received end may have the number of another's place, if the adapter has closed that.
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD, ENDS) for end in descriptors]
    for number, end in enumerate(moved):
        os.dup2(end, number)
    for end in {*descriptors, *moved} - set(range(ENDS)):
        os.close(end)
    os.chdir(fork.folder)
    os.environ[WORKER_MARK] = fork.mark
    fork_supervised()
    return fork.nonce


def _report_ended(requests: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            requests.send(b"%d %d" % ended)


def load_agent(framework: str) -> tuple[type[BaseAgent], FrameworkInfo]:
    """Load the adapter of a framework, and describe it.

    Args:
        framework: ``NAME:PROFILE``, or ``NAME`` for the its only or its native profile.

    Raises:
        DriverError: it cannot be used.
    """
    entry = None
    with contextlib.suppress(DriverNotFound):
        entry = driver_info("frameworks", framework)
    if entry is None:
        # Its message also says how to install the adapter. Imported here, since it would slow every worker down.
        from trialbed.environments import adapter_info

        entry = adapter_info(framework)
    loaded: type[BaseAgent] = load_driver("frameworks", entry.name, AGENT_CONTRACT)
    try:
        return loaded, FrameworkInfo(
            name=entry.name,
            version=loaded.framework_version(),
            adapter=entry.distribution,
            adapter_version=entry.version,
            python=platform.python_version(),
            deviations=tuple(loaded.deviations),
            packages=installed_packages(),
            dialect=loaded.dialect,
            finish_tool=loaded.finish_tool,
            converses=loaded.converses,
        )
    except Exception as error:
        raise DriverBroken(broken_message(entry, error, "cannot be described by")) from error


def command_agent(name: str, command: str) -> tuple[type[BaseAgent], FrameworkInfo]:
    """Return the agent that runs a program, and its description."""
    from trialbed import __version__
    from trialbed.plugin_files import lacks_parameter
    from trialbed.worker._command import CommandAgent

    spec = CommandSpec.model_validate_json(command)
    agent_class = type(name, (CommandAgent,), {"command": spec})
    info = FrameworkInfo(
        name=name,
        version=spec.version,
        adapter="trialbed",
        adapter_version=__version__,
        python=platform.python_version(),
        converses=not lacks_parameter(spec.arguments, "history"),
    )
    return agent_class, info


def _run_trials(channel: Channel, nonce: str, agent_class: type[BaseAgent], state: ProcessState) -> int:
    # Never closed: closing waits for tasks that resist cancellation. The process ends without it.
    runner = asyncio.Runner()
    client, server = ToolClient(), ""
    if hasattr(signal, "SIGUSR1"):
        # The executor asks a worker for its place when its time is over, and adds it to the trial's failure.
        faulthandler.register(signal.SIGUSR1, file=os.dup(2))
    while True:
        command = channel.receive()
        if not isinstance(command, Begin):
            raise TypeError("hello was sent twice")
        spec = command.spec
        channel.send(Started(nonce=nonce, trial=spec.trial))
        if not server:  # it is the same for all trials of a worker
            server = spec.server_url
            ask_directly(server)

        def switch_clock(running: bool, token: str = spec.trial) -> None:
            channel.send(ClockSwitch(nonce=nonce, trial=token, running=running))

        trial = WorkerTrial(spec, channel.owner_only, switch_clock)
        try:
            # `runner.run` would have all trials share one context, and take a tenth of a millisecond for Ctrl-C.
            outcome = runner.get_loop().run_until_complete(trial.run(agent_class, client))
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of an agent are its failure
            outcome = trial.failed(error)
        spent = "" if _cancel_leaked_tasks(runner) else "the trial left tasks that cannot be cancelled"
        spent = spent or state.change()
        if trial.close_error is not None and not spent:
            # The agent may still hold things.
            spent = f"close() raised {failure_of(trial.close_error).message}; the trial is not affected"
        channel.send(Done(nonce=nonce, trial=spec.trial, outcome=outcome, spent=spent))
        if spent:
            return 0


def _cancel_leaked_tasks(runner: asyncio.Runner) -> bool:
    """Cancel the tasks that the trial left; returns whether all ended. If not, the worker must run no other trial."""
    loop = runner.get_loop()
    try:
        # One turn, for work that the trial's end has put off, such as the closing of connections.
        loop.call_soon(loop.stop)
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        return not tasks or not runner.run(asyncio.wait(tasks, timeout=SETTLE))[1]
    except BaseException:  # noqa: BLE001 - a leaked task may raise SystemExit; then the worker is not used again
        traceback.print_exc()
        return False


class WorkerTrial:
    """Runs one trial specification.

    Args:
        owner_only: ends the process if it is a fork; called wherever an agent hands control back.
        clock: called when the agent's work begins (True) and ends (False).

    Attributes:
        close_error: the exception of the agent's ``close`` after its answer, which stays.
    """

    def __init__(
        self, spec: TrialSpec, owner_only: Callable[[], None], clock: Callable[[bool], None] | None = None
    ) -> None:
        self._spec = spec
        self._owner_only = owner_only
        self._clock = clock or (lambda _: None)
        self.close_error: BaseException | None = None
        self._started_at = datetime.now(UTC)
        self._begun = self._ended = time.perf_counter()
        self._cpu_begun = self._cpu_ended = _processor_time()

    async def run(self, agent_class: type[BaseAgent], client: ToolClient) -> Outcome:
        """Run the agent; its exceptions are raised."""
        seed_random_state(self._spec.endpoint.seed)
        agent = agent_class(self._spec.endpoint, self._spec.limits, system_prompt=self._spec.system_prompt)
        agent.has_turns = self._spec.has_turns
        tools = connected_tools(self._spec.tools, self._spec.server_url, client)
        try:
            answer = await self._answer(agent, tools)
        except BaseException as error:
            await _close_after(agent, error)
            raise
        try:
            await _settle(agent.close())
        except CommandFailed as error:
            return self._outcome(answer, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: it takes no answer away
            self.close_error = error
        return self._outcome(answer=answer)

    def failed(self, error: BaseException) -> Outcome:
        """Return the outcome of a trial with an agent that raised this."""
        self._owner_only()
        if self._ended == self._begun:
            self._ended, self._cpu_ended = time.perf_counter(), _processor_time()
        return self._outcome(error=error)

    async def _answer(self, agent: BaseAgent, tools: list[Tool]) -> Answer:
        """Have the agent answer every message of the user."""
        self._clock(True)
        self._started_at = datetime.now(UTC)
        self._begun, self._cpu_begun = time.perf_counter(), _processor_time()
        try:
            agent.bind_tools(tools, server_url=self._spec.server_url)
            return await converse(self._spec, lambda text: self._answer_to(agent, text))
        finally:
            self._ended, self._cpu_ended = time.perf_counter(), _processor_time()
            self._owner_only()
            self._clock(False)

    async def _answer_to(self, agent: BaseAgent, text: str) -> Answer:
        if inspect.iscoroutinefunction(agent.answer):
            value = await agent.answer(text)
        else:
            value = await _settle(await asyncio.to_thread(self._blocking_answer, agent, text))
        return _writable(read_answer(value, answer_names(self._spec.tools)))

    def _blocking_answer(self, agent: BaseAgent, text: str) -> Any:
        value = agent.answer(text)
        self._owner_only()
        return value

    def _outcome(self, answer: Answer | None = None, error: BaseException | None = None) -> Outcome:
        return Outcome(
            started_at=self._started_at,
            wall_time=self._ended - self._begun,
            answer=answer,
            failure=failure_of(error) if error else None,
            cpu_time=self._cpu_ended - self._cpu_begun,
        )


def _processor_time() -> float:
    """Return the processor seconds of this process so far, in all threads and in children that it has waited for."""
    spent = os.times()
    # The time of children is given in hundredths of a second.
    return time.process_time() + spent.children_user + spent.children_system


def failure_of(error: BaseException) -> Failure:
    """Return the failure for an agent's exception, with its type and text, and the end of its traceback."""
    kinds: dict[type[BaseException], FailureKind] = {
        ModelFailed: "model",
        AnswerError: "answer",
        MemoryError: "memory",
        BaseException: "agent",
    }
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception whose text cannot be read still has a type
        text = ""
    if not isinstance(error, (ModelFailed, AnswerError)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return Failure(
        kind=next(kind for own, kind in kinds.items() if isinstance(error, own)),
        message=redact(whole_text(text))[:MAX_MESSAGE],
        detail=redact(whole_text(foreign_traceback(error)))[-MAX_DETAIL:],
    )


def seed_random_state(seed: int) -> None:
    """Seed the global random states, which frameworks may use and trials must not share."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _writable(answer: Answer) -> Answer:
    """Return the answer in a form that can be sent.

    Raises:
        AnswerError: it cannot be written as JSON.
    """
    with contextlib.suppress(ValueError, RecursionError):
        answer.model_dump_json()
        return answer
    try:
        return Answer.model_validate_json(record_json(answer))
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"answer: cannot be written as JSON: {error}") from error


async def _close_after(agent: BaseAgent, error: BaseException) -> None:
    """Close an agent that failed; a further error becomes a note on the first."""
    try:
        await _settle(agent.close())
    except Exception as second:  # noqa: BLE001 - the first error is the one to report
        error.add_note(f"close() then raised {type(second).__name__}: {second}")


async def _settle(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


class Channel:
    """Receives commands and sends replies, on descriptors that the framework does not know.

    Standard input becomes empty and standard output becomes standard error. A framework that reads or prints therefore
    cannot disturb the protocol. A forked child has no channel.

    The worker ends with its input, even during a trial, by its supervisor, or by a thread without a supervisor.
    """

    def __init__(self, commands: int, replies: int) -> None:
        self._descriptors = (commands, replies)
        self._replies = replies
        self._owner = os.getpid()
        os.register_at_fork(after_in_child=self._abandon)
        stream = open(commands, "rb", closefd=False)  # noqa: SIM115 - open as long as the process
        if SUPERVISED:
            self._next_line: Callable[[], bytes] = stream.readline
        else:
            received: SimpleQueue[bytes] = SimpleQueue()
            self._next_line = received.get
            Thread(target=_listen, args=(stream, received), name="trialbed-commands", daemon=True).start()

    @classmethod
    def take_over(cls) -> Channel:
        """Move the protocol from the standard streams to private descriptors."""
        commands, replies = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        return cls(commands, replies)

    def receive(self) -> Hello | Begin:
        """Return the next command; blocks until there is one, and ends the process if there will be none.

        Raises:
            ValueError: the line is not a command.
        """
        line = self._next_line()
        if not line:
            _end()
        return read_command(line)

    def send(self, message: Record) -> None:
        """Write one message, whole."""
        self.owner_only()
        rest = memoryview(message_line(message))
        while rest:
            rest = rest[os.write(self._replies, rest) :]

    def owner_only(self) -> None:
        """End the process immediately if it is a fork of the worker."""
        if os.getpid() != self._owner:
            os._exit(0)

    def _abandon(self) -> None:
        if not self._owner:
            return
        self._owner = 0
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _listen(stream: BinaryIO, received: SimpleQueue[bytes]) -> None:
    for line in stream:
        received.put(line)
    _end()


def _end() -> NoReturn:
    """End the process and its group immediately, even during a trial, if the executor is gone or has no more trials."""
    if not SUPERVISED and hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


class ProcessState:
    """The state after the adapter was loaded; earlier changes by its framework hold for every trial."""

    def __init__(self) -> None:
        self._modules = frozenset(sys.modules)
        self._watched = [
            (module, {attribute: value for attribute, value in list(vars(module).items()) if callable(value)})
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in WATCHED and "._" not in name and isinstance(module, ModuleType)
        ]

    def change(self) -> str:
        """Name the first part that was removed or replaced since and that another trial would miss; empty if none."""
        missing = self._modules.difference(sys.modules)
        if missing:
            return f"{len(missing)} imported module(s) were removed, such as {min(missing)}"
        for module, functions in self._watched:
            get = vars(module).get
            # Without a loop in Python: this is asked after every trial, and there are a thousand functions.
            if not all(map(is_, map(get, functions), functions.values())):
                name = next(name for name, function in functions.items() if get(name) is not function)
                return f"{module.__name__}.{name} was replaced"
        return ""
