"""The worker's end of the connection to its executor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, NoReturn

from trialbed.records import Record
from trialbed.worker._messages import Begin, Hello, message_line, read_command
from trialbed.worker._supervisor import SUPERVISED


class Channel:
    """Receives commands and sends replies, on descriptors that the framework does not know.

    Standard input becomes empty and standard output becomes standard error, so that a framework that reads or
    prints cannot disturb the protocol. A forked child has no channel.

    The worker ends with its input, even during a trial: its supervisor sees to that, or a thread where there is none.
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
        """The next command; blocks until there is one, and ends the process if there will be none.

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
        """End the process at once if it is a fork of the worker."""
        if os.getpid() != self._owner:
            os._exit(0)

    def _abandon(self) -> None:
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _listen(stream: BinaryIO, received: SimpleQueue[bytes]) -> None:
    for line in stream:
        received.put(line)
    _end()


def _end() -> NoReturn:
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
