"""What goes wrong with a worker."""

from __future__ import annotations

import signal

from trialbed.records import FailureKind


class WorkerFault(Exception):
    """A worker failed; it must be ended and not used again."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def crash(code: int | None) -> WorkerFault:
    """The fault of a process that ended with this return code by itself (negative: the signal's number)."""
    if code is None:
        return WorkerFault("crash", "the worker closed its output and went on without it")
    if code >= 0:
        return WorkerFault("crash", f"the worker ended by itself with exit code {code}")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return WorkerFault("crash", f"the worker was killed by {name}{hint}")
