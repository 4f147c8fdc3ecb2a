"""The worker's end of the connection to its executor."""

from __future__ import annotations

import contextlib
import os
from queue import SimpleQueue
from threading import Thread

from trialbed.records import Record
from trialbed.worker._messages import Begin, Hello, read_command, written
from trialbed.worker._supervisor import SUPERVISED


class Channel:
    """Receives commands and sends replies, on descriptors that the framework does not know.

    Standard input becomes empty and standard output becomes standard error, so that a framework that reads or
    prints cannot disturb the protocol. A forked child has no channel.
    """

    def __init__(self, commands: int, replies: int) -> None:
        self._descriptors = (commands, replies)
        self._replies = replies
        self._owner = os.getpid()
        self._received: SimpleQueue[bytes] = SimpleQueue()
        os.register_at_fork(after_in_child=self._abandon)
        Thread(target=self._listen, args=(commands,), name="trialbed-commands", daemon=True).start()

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
        """The next command; blocks until there is one.

        Raises:
            ValueError: the line is not a command.
        """
        return read_command(self._received.get())

    def send(self, message: Record) -> None:
        """Write one message, whole."""
        self.owner_only()
        rest = memoryview(written(message))
        while rest:
            rest = rest[os.write(self._replies, rest) :]

    def owner_only(self) -> None:
        """End the process at once if it is a fork of the worker."""
        if os.getpid() != self._owner:
            os._exit(0)

    def _listen(self, commands: int) -> None:
        with os.fdopen(commands, "rb") as stream:
            for line in stream:
                self._received.put(line)
            _end()

    def _abandon(self) -> None:
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _end() -> None:
    """End at once with all children, even during a trial: the executor is gone or has no more trials."""
    if SUPERVISED:
        os._exit(0)
    try:
        import psutil

        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    finally:
        os._exit(0)
