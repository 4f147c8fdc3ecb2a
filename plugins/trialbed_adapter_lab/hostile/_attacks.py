"""The attacks of the hostile agents, and the failure that each may cost its own trial."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """One attack of the hostile adapter.

    Attributes:
        name: the query that makes the agent carry it out.
        kind: the kind of failure that its own trial ends with, if not by running out of time; None if it is answered.
        message: a part of the failure's message.
        refused: kinds of failures that its own trial may end with instead in a sandbox, which denies them the means.
    """

    name: str
    kind: str | None = None
    message: str = ""
    refused: tuple[str, ...] = ()


ATTACKS = (
    Attack("exit code", "crash", "exit code 3"),
    Attack("exit in native code", "crash", "SIGABRT"),
    Attack("segfault", "crash", "SIGSEGV"),
    Attack("close everything", "crash", "worker"),
    Attack("crash beside a daemon", "crash", "exit code 3"),
    Attack("kill the group", "crash", "SIGTERM"),
    Attack("kill the parent", "crash", "SIGKILL", refused=("agent",)),
    Attack("become another program", "crash", "closed its output"),
    Attack("sleep", "timeout", " s"),
    Attack("busy loop", "timeout", " s"),
    Attack("blocking sleep", "timeout", " s"),
    Attack("hold the lock", "timeout", " s"),
    Attack("hang with children", "timeout", " s"),
    Attack("stop itself", "timeout", " s"),
    Attack("deadlock", "timeout", " s"),
    Attack("forge", "protocol", "nonce"),
    Attack("garbage", "protocol", "not a message"),
    Attack("endless line", "protocol", "32 MiB"),
    Attack("giant answer", "protocol", "32 MiB"),
    Attack("grow", "memory", "limit of 300 MiB"),
    Attack("grow in a child", "memory", "limit of 300 MiB"),
    Attack("no memory", "memory", "MemoryError"),
    Attack("raise error", "agent", "ValueError: the framework does not like this"),
    Attack("raise unprintable", "agent", "Unprintable"),
    Attack("raise system exit", "agent", "SystemExit: 4"),
    Attack("raise interrupt", "agent", "KeyboardInterrupt"),
    Attack("raise cancelled", "agent", "CancelledError"),
    Attack("exit in a task", "agent", "SystemExit: 5"),
    Attack("recurse", "agent", "RecursionError"),
    Attack("model down", "model", "status 500: down"),
    Attack("wrong type", "answer", "not a value of type int"),
    Attack("bad node", "answer", "answer.answer_details[0].message"),
    Attack("not json", "answer", "cannot be written as JSON"),
    Attack("fork and return twice"),
    Attack("fork in thread"),
    Attack("leave a child"),
    Attack("leave a daemon"),
    Attack("bounded fork bomb"),
    Attack("print"),
    Attack("print no text"),
    Attack("flood"),
    Attack("close the outputs"),
    Attack("leak a task"),
    Attack("leak a stubborn task"),
    Attack("leak descriptors"),
    Attack("leak threads"),
    Attack("threads that never end"),
    Attack("exit in a thread"),
    Attack("hang at exit"),
    Attack("lower the limits"),
    Attack("remove modules"),
    Attack("replace functions"),
    Attack("replace asyncio"),
    Attack("change the clocks"),
    Attack("change folder"),
    Attack("remove folder", refused=("agent",)),
    Attack("remove all folders"),
)
"""Every attack."""
