"""An agent that is a program of its own, started anew for each trial."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from trialbed.answers import answer_names, read_answer
from trialbed.contracts import BaseAgent
from trialbed.records import Answer
from trialbed.tools import Tool
from trialbed.wire import lenient_json
from trialbed.wire.addresses import mcp_url
from trialbed.worker._protocol import CommandSpec

MAX_OUTPUT = 8 * 2**20
"""Bytes of standard output; a program that writes more has failed."""

TAIL = 16 * 2**10
"""Bytes of the end of standard error that are kept."""

LAST_OUTPUT = 5.0
"""Seconds in which output of the program may still be read after it has ended."""

LOOKS, BETWEEN = 3, 0.02
"""Times in a row that its output is found empty, and the seconds between, where another process holds it open."""

SHOWN = 300
"""Characters of a command, and of standard error, in a message."""


class CommandFailed(Exception):
    """The program ended with an exit code other than 0, or wrote too much."""


class CommandAgent(BaseAgent):
    """Starts the program, writes the task to its standard input, and takes its output for the answer."""

    contract = "3"
    command: ClassVar[CommandSpec]

    @classmethod
    def framework_version(cls) -> str:
        """The version of the program's files."""
        return cls.command.version

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Keep the tools for the task."""
        self._tools = tools
        self._server_url = server_url

    def answer(self, query: str) -> Answer:
        """Run the program.

        Raises:
            CommandFailed: it fails.
            AnswerError: it prints a document that is not an answer.
        """
        with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="trial-", ignore_cleanup_errors=True) as folder:
            text = self._output(json.dumps(self.task(query)).encode(), folder)
        return read_output(text, self._tools)

    def task(self, query: str) -> dict[str, Any]:
        """The task, as the program gets it."""
        url = mcp_url(self._server_url)
        return {
            "query": query,
            "instructions": self.system_prompt,
            "endpoint": self.endpoint.model_dump(mode="json"),
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "api": tool.api.model_dump(mode="json"),
                }
                for tool in self._tools
            ],
            "tools_url": self._server_url,
            "mcp_url": url,
            "mcp_command": [sys.executable, "-m", "trialbed.wire.mcp", url],
            "limits": self.limits.model_dump(mode="json"),
        }

    def environment(self) -> dict[str, str]:
        """The variables of the program: the worker's, which have no secrets, and the trial's addresses."""
        return {
            **os.environ,
            "OPENAI_BASE_URL": self.endpoint.base_url,
            "OPENAI_API_KEY": self.endpoint.api_key,
            # Anthropic's SDKs add the /v1 themselves.
            "ANTHROPIC_BASE_URL": self.endpoint.root_url,
            "ANTHROPIC_API_KEY": self.endpoint.api_key,
            "OPENAI_MODEL": self.endpoint.model,
            "TRIALBED_TOOLS_URL": self._server_url,
            "TRIALBED_MCP_URL": mcp_url(self._server_url),
        }

    def _output(self, task: bytes, folder: str) -> str:
        shown = shlex.join((Path(self.command.arguments[0]).name, *self.command.arguments[1:]))[:SHOWN]
        process = subprocess.Popen(
            self.command.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=folder,
            start_new_session=True,
        )
        try:
            streams = _Streams(process, task)
            code = process.wait()
        finally:
            # Processes that it has left running hold its output open. All else that it started is ended with the trial.
            end_group(process)
        streams.join()
        if streams.too_much:
            raise CommandFailed(f"{shown} wrote more than {MAX_OUTPUT >> 20} MiB to standard output")
        if code != 0:
            errors = bytes(streams.errors).decode(errors="replace").strip()
            ending = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            with contextlib.suppress(ValueError):
                ending = f"was killed by {signal.Signals(-code).name}"
            last = errors.splitlines()[-1][-SHOWN:] if errors else "it wrote nothing to standard error"
            failure = CommandFailed(f"{shown} {ending}: {last}")
            if errors:
                failure.add_note(f"the end of its standard error:\n{errors}")
            raise failure
        return bytes(streams.output).decode(errors="replace")


class _Streams:
    """The standard streams of a process, each served by a thread, so that none can block another."""

    def __init__(self, process: subprocess.Popen[bytes], task: bytes) -> None:
        self.too_much = False
        self._process = process
        self._task = task
        self.output = bytearray()
        self.errors = bytearray()
        self._start(self._write, process.stdin)
        readers = ((self._read, process.stdout), (self._keep, process.stderr))
        self._readers = [(self._start(work, pipe), pipe) for work, pipe in readers]

    @staticmethod
    def _start(work: Callable[[IO[bytes]], None], pipe: IO[bytes] | None) -> threading.Thread:
        thread = threading.Thread(target=work, args=(pipe,), daemon=True)
        thread.start()
        return thread

    def join(self) -> None:
        """Wait until everything is read: to the end, or until nothing is left where another process holds it open."""
        end = time.monotonic() + LAST_OUTPUT
        for thread, pipe in self._readers:
            empty = 0
            while thread.is_alive() and empty < LOOKS and time.monotonic() < end:
                thread.join(BETWEEN)
                empty = empty + 1 if _is_empty(pipe) else 0

    def _write(self, pipe: IO[bytes]) -> None:
        # A program need not read its task.
        with contextlib.suppress(OSError), pipe:
            pipe.write(self._task)

    def _read(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while part := os.read(pipe.fileno(), 2**16):
                self.output += part
                if len(self.output) > MAX_OUTPUT:
                    self.too_much = True
                    end_group(self._process)
                    return

    def _keep(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), pipe:
            while part := os.read(pipe.fileno(), 2**16):
                self.errors += part
                del self.errors[:-TAIL]


def _is_empty(pipe: IO[bytes] | None) -> bool:
    """Return whether a pipe holds nothing that could be read now; False where the system does not say."""
    try:
        import fcntl
        import termios

        held = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)) if pipe else b""
    except (ImportError, OSError, ValueError):
        return False
    return not any(held)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and the processes of its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def read_output(text: str, tools: Sequence[Tool]) -> Answer:
    """The answer that a program printed: a JSON document with ``final_answer`` or ``answer``, or else plain text.

    Raises:
        AnswerError: it is such a document, and malformed.
    """
    value = lenient_json(text)
    is_document = isinstance(value, dict) and ("final_answer" in value or "answer" in value)
    return read_answer(value if is_document else text, answer_names([tool.spec for tool in tools]))
