"""Descriptors that a worker's process inherits."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self


class Descriptors:
    """Opens descriptors, and closes them in this process when the context is left.

    Attributes:
        passed: those that the process must inherit.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.passed: tuple[int, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def pipe(self) -> tuple[int, int]:
        """A pipe, whose end for writing is inherited; reading does not block."""
        readable, writable = os.pipe()
        self._stack.callback(os.close, readable)
        self._stack.callback(os.close, writable)
        os.set_blocking(readable, False)
        self.passed += (writable,)
        return readable, writable

    def text(self, text: str) -> int:
        """An inherited file without a name that holds a text."""
        file = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        file.write(text.encode())
        file.seek(0)
        self.passed += (file.fileno(),)
        return file.fileno()

    def json(self, value: Any) -> int:
        """An inherited file without a name that holds a value as JSON."""
        return self.text(json.dumps(value))
