"""The protocol between an executor and a worker, with the command and environment of the process, and its messages.

Each message is one JSON object on a line.

::

    executor                      worker
    hello {nonce, forks}     →
                             ←    ready {info}           the adapter is loaded
                             ←    failed {error, message, detail}     or it is not; the worker ends
    begin {spec}             →
                             ←    started {trial}            the agent is about to be made
                             ←    clock {trial, running}     its work begins, and ends; the executor times it
                             ←    done {trial, outcome, spent}     the worker ends if it is spent
    begin {spec}             →    …
    (end of input)           →    the worker ends, busy or not

A worker that is asked for ``forks`` and can be forked is a template: it runs no trials. For each ``Fork`` that comes to
that socket, with the ends of three pipes for its input, output and error output, it forks a worker, which begins with
``ready``. It answers with the id of the worker's supervisor, or a negative number if it cannot fork, and when that ends
with its id and status.

Every reply carries the nonce of ``hello``, to distinguish it from accidental prints of a framework.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter

from trialbed.records import FrameworkInfo, Outcome, Record, TrialSpec
from trialbed.settings import passed_variables

WORKER_MARK = "TRIALBED_WORKER"
"""The variable that marks a worker and its descendants, for finding stray processes."""

OPT_OUTS = {
    "AGNO_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Variables that keep frameworks from reporting telemetry and from looking things up online."""

LOOPBACK = "127.0.0.1,localhost,::1"

NAMES = ("NO_PROXY", "no_proxy")

WAITED_LIMIT = 5.0
"""Seconds that the server may take to say how long a trial has waited."""


class CommandFailed(Exception):
    """An agent's program failed: it ended with an exit code other than 0, wrote too much, or did not keep to lines."""


class CommandSpec(Record):
    """The program of a worker.

    Attributes:
        arguments: the program's path and its arguments.
        version: distinguishes it from its other versions.
    """

    arguments: tuple[str, ...]
    version: str


class Hello(Record):
    """The first line.

    Attributes:
        nonce: marks the worker's replies.
        forks: the descriptor of a socket for asking a template for workers; None for a plain worker.
    """

    type: Literal["hello"] = "hello"
    nonce: str
    forks: int | None = None


class Begin(Record):
    """Run this trial."""

    type: Literal["begin"] = "begin"
    spec: TrialSpec


class Fork(Record):
    """Fork a worker.

    Attributes:
        nonce: marks its replies.
        mark: stands in its environment.
        folder: its working directory.
    """

    nonce: str
    mark: str
    folder: str


class Ready(Record):
    """The adapter is loaded.

    Attributes:
        forks: whether it is a template: not if none was asked for, or a thread keeps it from being forked.
    """

    type: Literal["ready"] = "ready"
    nonce: str
    info: FrameworkInfo
    forks: bool = False


class Failed(Record):
    """The adapter cannot be used; has the class of the error in ``trialbed.errors``, its text, and the traceback."""

    type: Literal["failed"] = "failed"
    nonce: str
    error: str
    message: str
    detail: str = ""


class Started(Record):
    """The trial's agent is about to be made; from here on a failure is the trial's."""

    type: Literal["started"] = "started"
    nonce: str
    trial: str


class ClockSwitch(Record):
    """The trial's work begins now, or has ended; the executor reads its own clock when this arrives."""

    type: Literal["clock"] = "clock"
    nonce: str
    trial: str
    running: bool


class Done(Record):
    """The trial has ended.

    Attributes:
        spent: why the worker ends, and takes no other trial; empty if it takes one.
    """

    type: Literal["done"] = "done"
    nonce: str
    trial: str
    outcome: Outcome
    spent: str = ""


Command = Annotated[Hello | Begin, Field(discriminator="type")]
"""A line to the worker."""

Reply = Annotated[Ready | Failed | Started | ClockSwitch | Done, Field(discriminator="type")]
"""A line from the worker."""

_COMMANDS: TypeAdapter[Hello | Begin] = TypeAdapter(Command)
_REPLIES: TypeAdapter[Ready | Failed | Started | ClockSwitch | Done] = TypeAdapter(Reply)


def read_command(line: bytes) -> Hello | Begin:
    """Return the command in a line.

    Raises:
        ValueError: the line is not a command.
    """
    return _COMMANDS.validate_json(line)


def read_reply(line: bytes, nonce: str) -> Ready | Failed | Started | ClockSwitch | Done:
    """Return the reply in a line.

    Raises:
        ValueError: the line is not a reply, or does not carry the nonce.
    """
    reply = _REPLIES.validate_json(line)
    if reply.nonce != nonce:
        raise ValueError("the message does not carry this worker's nonce")
    return reply


def message_line(message: Record) -> bytes:
    return message.model_dump_json().encode() + b"\n"


def worker_command(framework: str, python: str | None = None, command: CommandSpec | None = None) -> list[str]:
    """Return the command of a worker.

    Args:
        python: the interpreter that has the adapter; default: this one.
        command: a program to run instead of an adapter.
    """
    program = [] if command is None else ["--command", command.model_dump_json()]
    return [python or sys.executable, "-m", "trialbed.worker", "--framework", framework, *program]


def worker_environment(
    mark: str, base: Mapping[str, str] | None = None, *, own_packages: bool = False
) -> dict[str, str]:
    """Return the environment of a worker.

    It has the variables of a list, without secrets and without settings of Trialbed or of a vendor. It does not reveal
    the folder ``bench`` was started in, because an agent could look for expected answers there. The worker's key is a
    dummy, the real one stays with the server. Relative entries of ``PYTHONPATH`` are made absolute, since a worker has
    a working directory of its own.

    Args:
        mark: distinguishes this worker from others.
        base: what to start from; default: this process's environment.
        own_packages: the worker's interpreter has packages of its own, which this one's must not shadow.
    """
    kept = passed_variables(base) | OPT_OUTS
    kept |= {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", WORKER_MARK: mark}
    kept |= without_proxy(kept, LOOPBACK)
    if own_packages:
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            kept.pop(name, None)
    if "PYTHONPATH" in kept:
        kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, kept["PYTHONPATH"].split(os.pathsep)))
    return kept


def without_proxy(variables: Mapping[str, str], hosts: str) -> dict[str, str]:
    """Return the variables for hosts without a proxy, with more hosts.

    Naming hosts makes creating an httpx client half as slow again. The result is therefore empty if there cannot be a
    proxy.
    """
    # Elsewhere than on Linux, the system may name a proxy, too.
    if sys.platform == "linux" and not any(name.lower().endswith("_proxy") for name in variables):
        return {}
    return {name: ",".join(filter(None, (variables.get(name, ""), hosts))) for name in NAMES}


def ask_directly(server_url: str) -> None:
    """Have the clients that this process makes from now on ask the server itself, as proxies must see no token."""
    host = urlsplit(server_url).hostname
    if host and not all(host in os.environ.get(name, "").split(",") for name in NAMES):
        os.environ.update(without_proxy(os.environ, host))


def waited_at(server_url: str) -> Callable[[str], Awaitable[float]]:
    """Return a function that asks the server how much later a trial's deadline is, like ``Executor.waited``.

    ``GET /t/<trial>/waited`` needs no token: the trial's is in its path. If the server does not answer, the deadline
    stays.

    Args:
        server_url: the server's root, as ``Executor.connect`` gets it.
    """
    # Only executors with workers on other machines need this.
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))

    def ask(trial: str) -> float:
        url = f"{server_url.rstrip('/')}/t/{trial}/waited"
        with suppress(OSError, ValueError, KeyError, TypeError), opener.open(url, timeout=WAITED_LIMIT) as reply:
            return float(json.loads(reply.read(1024))["waited"])
        return 0.0

    async def time_waited(trial: str) -> float:
        return await asyncio.to_thread(ask, trial)

    return time_waited
