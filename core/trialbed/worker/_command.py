"""An agent that is a separate program, started again for each trial."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, ClassVar, cast

from trialbed.answers import answer_names, read_answer
from trialbed.contracts import BaseAgent
from trialbed.errors import AnswerError
from trialbed.records import Answer
from trialbed.tools import Tool
from trialbed.wire import lenient_json
from trialbed.wire.addresses import mcp_url
from trialbed.worker._protocol import CommandFailed, CommandSpec

MAX_OUTPUT = 8 * 2**20
"""Bytes of standard output; a program that writes more has failed."""

TAIL = 16 * 2**10
"""Bytes of the end of standard error that are kept."""

MAX_ERRORS = 64 * 2**20
"""The most bytes of standard error."""

LOOK = 0.1
"""Seconds after which the sizes of both are looked at again."""

LOOKED_AT = 20
"""Last lines of standard error among which the error is looked for."""

ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""The beginning of a line that names an error, in Python and in Node."""

SHOWN = 300
"""Characters of a command, and of standard error, in a message."""

GRACE = 0.01
"""Seconds to wait for a further line after an answer. A later line is found at the next message, or at the end."""

ENDING = 10.0
"""Seconds that a program has to end after its input has."""

DOCUMENT = re.compile(r'\s*\{\s*"(final_)?answer"\s*:')
"""The beginning of an answer as a JSON object."""

LINES = (
    "in a conversation a program gets a line of JSON for each message, and answers each with one line: "
    "JSON without line breaks, or words; whatever else it prints goes to standard error"
)


class CommandAgent(BaseAgent):
    """Starts the program, writes the task to its standard input, and takes its output for the answer.

    In a conversation the program stays: it gets a line of JSON for each message, and answers each with a line.
    """

    contract = "3"
    command: ClassVar[CommandSpec]
    converses = True

    @classmethod
    def framework_version(cls) -> str:
        """Return the version of the program's files."""
        return cls.command.version

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Keep the tools for the task."""
        self._tools = tools
        self._server_url = server_url
        self._running = ExitStack()
        self._talking: Callable[[dict[str, Any]], str] | None = None

    def answer(self, query: str) -> Answer:
        """Run the program, or have it answer the next message.

        Raises:
            CommandFailed: it fails.
            AnswerError: it prints a document that is not an answer.
        """
        if not self.has_turns:
            return read_output(self._output(self.task(query)), self._tools)
        message: dict[str, Any] = {"query": query}
        if self._talking is None:
            message = self.task(query) | {"conversation": True}
            self._talking = self._running.enter_context(self._conversation())
        return read_output(self._talking(message), self._tools)

    def close(self) -> None:
        """End a program that a conversation was held with.

        Raises:
            CommandFailed: it wrote more lines than it got, or fails at the end of its input.
        """
        self._running.close()

    def task(self, query: str) -> dict[str, Any]:
        """Return the task for the program."""
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
            "mcp_url": mcp_url(self._server_url),
            "limits": self.limits.model_dump(mode="json"),
        }

    def environment(self) -> dict[str, str]:
        """Return the program's variables, which are the worker's without secrets, and the trial's addresses."""
        return {
            **os.environ,
            "OPENAI_BASE_URL": self.endpoint.base_url,
            "OPENAI_API_BASE": self.endpoint.base_url,  # LlamaIndex's name
            "OPENAI_API_KEY": self.endpoint.api_key,
            # Anthropic's SDKs add the /v1 themselves.
            "ANTHROPIC_BASE_URL": self.endpoint.root_url,
            "ANTHROPIC_API_KEY": self.endpoint.api_key,
            "OPENAI_MODEL": self.endpoint.model,
            "TRIALBED_TOOLS_URL": self._server_url,
            "TRIALBED_MCP_URL": mcp_url(self._server_url),
        }

    def _output(self, task: dict[str, Any]) -> str:
        """Return the program's output for a task at its end."""
        with self._start(task) as (process, output, errors):
            code = process.wait()
            self._check_sizes(output, errors)
            if code != 0:
                raise _failure(self._text, code, errors)
            output.seek(0)
            return output.read().decode(errors="replace")

    @contextmanager
    def _conversation(self) -> Iterator[Callable[[dict[str, Any]], str]]:
        """Start the program, and yield a function that sends it a message and returns the line of its answer."""
        with self._start(None) as (process, output, errors):
            heard, said = cast("IO[bytes]", process.stdin), cast("BufferedReader", process.stdout)
            has_answered, first = False, ""

            def talk(message: dict[str, Any]) -> str:
                nonlocal has_answered, first
                has_answered = False
                # The end of standard error is shown if the time of the trial is over.
                sys.stderr.write(f"{self._text} has not answered a message; {LINES}\n")
                if "conversation" not in message:  # there was an answer before
                    self._refuse_lines(said)
                with suppress(BrokenPipeError):
                    heard.write(json.dumps(message).encode() + b"\n")
                    heard.flush()
                line = said.readline(MAX_OUTPUT + 1)
                if len(line) > MAX_OUTPUT:
                    raise CommandFailed(f"{self._text} wrote more than {MAX_OUTPUT >> 20} MiB")
                if not line.endswith(b"\n"):
                    code = process.wait()
                    self._check_sizes(output, errors)
                    if code != 0:
                        raise _failure(self._text, code, errors)
                    if not line:
                        raise CommandFailed(f"{self._text} ended without an answer to a message; {LINES}")
                if not line.strip():
                    raise CommandFailed(f"{self._text} answered a message with an empty line; {LINES}")
                self._refuse_lines(said, GRACE)
                has_answered, text = True, line.decode(errors="replace")
                first = first or text.strip()
                return text

            try:
                yield talk
                if has_answered:
                    with suppress(BrokenPipeError):
                        heard.close()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(ENDING)
                    # A program that was a line ahead all along has one left.
                    self._refuse_lines(said, first=first)
                    if process.returncode is None:
                        raise CommandFailed(f"{self._text} has not ended {ENDING:g} s after its input; {LINES}")
                    if process.returncode != 0:
                        raise _failure(self._text, process.returncode, errors)
            finally:
                end_group(process)
                for pipe in (heard, said):
                    with suppress(BrokenPipeError):
                        pipe.close()

    def _refuse_lines(self, said: BufferedReader, wait: float = 0, first: str = "") -> None:
        """Fail if the program has printed more than its answers so far.

        An extra line would be taken for the answer to the next message, and so on for all later answers.

        Args:
            first: its first line, if it may have been the extra one.
        """
        os.set_blocking(said.fileno(), False)
        further = said.peek() or (select.select([said], [], [], wait)[0] and said.peek())
        os.set_blocking(said.fileno(), True)
        if further:
            line = further.decode(errors="replace").splitlines()[0]
            lines = f"{line[:SHOWN]!r}" + (f", and its first was {first[:SHOWN]!r}" if first else "")
            raise CommandFailed(f"{self._text} wrote a line after its answer: {lines}; {LINES}")

    @contextmanager
    def _start(self, task: dict[str, Any] | None) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
        """Start the program in a folder of its own; yields it with its output and its errors.

        Args:
            task: its whole input; None for pipes to it and from it.
        """
        # Files, as a process that the program leaves behind may hold a pipe open.
        with (
            TemporaryDirectory(dir=Path.cwd(), prefix="trial-", ignore_cleanup_errors=True) as folder,
            TemporaryFile(dir=folder) as given,
            TemporaryFile(dir=folder) as output,
            TemporaryFile(dir=folder) as errors,
        ):
            given.write(json.dumps(task).encode())
            given.seek(0)
            process = subprocess.Popen(
                self.command.arguments,
                stdin=subprocess.PIPE if task is None else given,
                stdout=subprocess.PIPE if task is None else output,
                stderr=errors,
                env=self.environment(),
                cwd=folder,
                start_new_session=True,
            )
            ended = threading.Event()
            watching = threading.Thread(target=_end_at_bounds, args=(process, _bounds(output, errors), ended))
            watching.start()
            try:
                yield process, output, errors
            finally:
                # All else that it started is ended with the trial.
                end_group(process)
                ended.set()
                watching.join()
                process.wait()

    @property
    def _text(self) -> str:
        arguments = self.command.arguments
        return shlex.join((Path(arguments[0]).name, *arguments[1:]))[:SHOWN]

    def _check_sizes(self, output: IO[bytes], errors: IO[bytes]) -> None:
        for stream, most in _bounds(output, errors):
            if _size(stream) > most:
                raise CommandFailed(f"{self._text} wrote more than {most >> 20} MiB")


def _bounds(output: IO[bytes], errors: IO[bytes]) -> Sequence[tuple[IO[bytes], int]]:
    return ((output, MAX_OUTPUT), (errors, MAX_ERRORS))


def _failure(shown: str, code: int, errors: IO[bytes]) -> CommandFailed:
    errors.seek(max(0, _size(errors) - TAIL))
    said = errors.read().decode(errors="replace").strip()
    ending = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
    with suppress(ValueError):
        ending = f"was killed by {signal.Signals(-code).name}"
    lines = said.splitlines()[-LOOKED_AT:] or ["it wrote nothing to standard error"]
    # Python's notes and Node's version come after the error itself.
    last = next((line for line in reversed(lines) if ERROR.match(line)), lines[-1])
    failure = CommandFailed(f"{shown} {ending}: {last[-SHOWN:]}")
    if said:
        failure.add_note(f"the end of its standard error:\n{said}")
    return failure


def _end_at_bounds(
    process: subprocess.Popen[bytes], bounds: Sequence[tuple[IO[bytes], int]], ended: threading.Event
) -> None:
    """End a program that writes too much; ``ended`` is set when it has ended."""
    while not ended.wait(LOOK):
        if any(_size(stream) > most for stream, most in bounds):
            end_group(process)


def _size(stream: IO[bytes]) -> int:
    return os.fstat(stream.fileno()).st_size


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and the processes of its group."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def read_output(text: str, tools: Sequence[Tool]) -> Answer:
    """Return the answer that a program printed, as a JSON document with ``final_answer`` or ``answer``, or plain text.

    Raises:
        AnswerError: it is such a document, and malformed.
    """
    value = lenient_json(text)
    if value is None and DOCUMENT.match(text):
        raise AnswerError(f"answer: {text[:SHOWN]!r} is not valid JSON")
    is_document = isinstance(value, dict) and ("final_answer" in value or "answer" in value)
    return read_answer(value if is_document else text, answer_names([tool.spec for tool in tools]))
