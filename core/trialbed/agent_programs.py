"""Agents that are programs started by a command, with their names, files and versions."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import UsageError

OPTION = "--command"

_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)=(.*)", re.DOTALL)
_UNUSUAL = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class AgentCommand:
    """A program that answers one query, without an adapter.

    Attributes:
        name: its label in a run.
        text: the given command, without the name.
        arguments: the program and its arguments; files that they name have absolute paths.
        files: the files and folders among them, with the program itself.
    """

    name: str
    text: str
    arguments: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def declaration(self) -> str:
        """``NAME=COMMAND``."""
        return f"{self.name}={self.text}"

    def digest(self) -> str:
        """SHA-256 over the command and the contents of the files that it names, but not of folders."""
        # The program counts if it was given as a file; programs of the system are not read.
        read = self.files if "/" in shlex.split(self.text)[0] else self.files[1:]
        lines = [self.text, *map(_file_digest, read)]
        return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def agent_commands(given: Sequence[str], folder: Path) -> dict[str, AgentCommand]:
    """Return the commands by their names.

    Args:
        given: ``[NAME=]COMMAND`` each. Without a name, a command is called like the first file that it names, without
            its ending, or like its program.
        folder: relative paths of files start here.

    Raises:
        UsageError: a command cannot be read, its program is missing, or two have one name.
    """
    found: dict[str, AgentCommand] = {}
    for text in given:
        command = _parse(text, folder)
        if command.name in found:
            raise UsageError(
                f"{OPTION}: two commands are called {command.name!r}; name them, as in "
                f"{OPTION} '{command.name}-2={command.text}'"
            )
        found[command.name] = command
    return found


def check_names(commands: Mapping[str, AgentCommand], frameworks: Sequence[str]) -> None:
    """See that no command is called like a framework of the run.

    Raises:
        UsageError: one is.
    """
    taken = sorted(set(commands) & set(frameworks))
    if taken:
        raise UsageError(f"{OPTION}: {taken[0]!r} is a framework of this run; name the command, as in NAME=COMMAND")


def _parse(text: str, folder: Path) -> AgentCommand:
    named = _NAMED.fullmatch(text.strip())
    name, command = (named[1], named[2].strip()) if named else ("", text.strip())
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{OPTION} {text!r} cannot be read: {error}; quote it as in a shell") from error
    if not parts:
        raise UsageError(f"{OPTION} {text!r} names no program; give one, such as {OPTION} 'node agent.mjs'")
    program = _program(parts[0], folder, is_named=bool(name))
    places = [_place(part, folder) for part in parts[1:]]
    arguments = [part if place is None else str(place) for part, place in zip(parts[1:], places, strict=True)]
    files = [place for place in places if place is not None]
    return AgentCommand(
        name=name or _default_name(parts[0], files),
        text=command,
        arguments=(str(program), *arguments),
        files=(program, *files),
    )


def _program(name: str, folder: Path, *, is_named: bool) -> Path:
    found = shutil.which(str(folder / name) if "/" in name else name)
    if found is not None:
        return Path(found).absolute()
    if (folder / name).is_file():
        hint = f"write ./{name}" if "/" not in name else f"make it executable (chmod +x {name})"
        raise UsageError(
            f"{OPTION}: {name} is a file, but not a program; {hint}, or name its interpreter in front of it"
        )
    before, equals, _ = name.partition("=")
    if equals and not is_named:
        raise UsageError(
            f"{OPTION}: {before!r} cannot be a command's name, which has letters, digits, '.', '_' and '-' only"
        )
    sets = f"; to set {before}, write 'env {name}' in its place" if equals else ""
    raise UsageError(f"{OPTION}: the program {name!r} was not found; install it, or give its path{sets}")


def _place(part: str, folder: Path) -> Path | None:
    """Return the file or folder that an argument names, or None."""
    if not part or part.startswith("-") or len(part) > 1024 or "\0" in part:
        return None
    path = (folder / part).absolute()
    return path if path.exists() else None


def _default_name(program: str, files: Sequence[Path]) -> str:
    stem = next((file.stem for file in files if file.is_file()), Path(program).stem)
    return _UNUSUAL.sub("-", stem).strip("-.") or "command"


def _file_digest(path: Path) -> str:
    if not path.is_file():
        return str(path.name)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{OPTION}: cannot read {path}: {error.strerror or error}") from error
