"""The parts of the machine that a sandboxed worker has: its files, its environment, its descriptors."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed_plugins.executors.sandbox._interpreters import Interpreter
from trialbed_plugins.executors.sandbox._server import ServerAddress

SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")))
"""Programs and libraries; on most systems all but the first are links into it."""

SETTINGS = tuple(
    Path("/etc") / name
    for name in (
        "alternatives",
        "ca-certificates",
        "gai.conf",
        "group",
        "host.conf",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
        "localtime",
        "mime.types",
        "nsswitch.conf",
        "passwd",
        "pki",
        "protocols",
        "services",
        "ssl/certs",
        "ssl/openssl.cnf",
        "timezone",
    )
)
"""Settings of the system without secrets."""


@dataclass(frozen=True)
class View:
    """A part of the file system.

    Attributes:
        whole: files and folders with all that is in them.
        listed: folders of which only the names are seen.
    """

    whole: tuple[Path, ...]
    listed: tuple[Path, ...]


def view(readable: Iterable[Path], hidden: Collection[Path]) -> View:
    """Leave hidden files out of the readable ones: a folder that contains a hidden one is split into its entries.

    Files that are put into such a folder later are not seen, so a hidden file need not exist yet.
    """
    whole: list[Path] = []
    listed: list[Path] = []
    for path in readable:
        _take_apart(path, hidden, whole, listed)
    return View(tuple(dict.fromkeys(whole)), tuple(dict.fromkeys(listed)))


def masks(path: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """Yield the hidden files and folders below a folder."""
    return (other for other in hidden if other != path and other.is_relative_to(path))


def is_hidden(path: Path, hidden: Iterable[Path]) -> bool:
    """Return whether it is hidden, or in something that is."""
    return any(path.is_relative_to(other) for other in hidden)


def _take_apart(path: Path, hidden: Collection[Path], whole: list[Path], listed: list[Path]) -> None:
    if is_hidden(path, hidden):
        return
    if not any(masks(path, hidden)):
        whole.append(path)
        return
    listed.append(path)
    for child in sorted(path.iterdir()):
        # A link could lead to a hidden file; its target is seen if it is readable itself.
        if not child.is_symlink():
            _take_apart(child, hidden, whole, listed)


ALONE = (sys.executable, "-I", "-S")
"""Starts Python without packages, in which nothing is loaded but the file that follows."""

LAUNCHERS = Path(__file__).with_name("launchers")

FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
}
"""Variable -> the folder below the worker's own that it names."""

PLACES = ("PWD", "OLDPWD", "TEMP", "TMP", "XDG_RUNTIME_DIR")
SOCKETS = ("DBUS_", "DISPLAY", "DOCKER_", "GPG_", "SSH_", "WAYLAND_")
"""Prefixes of the variables that lead to the user's other programs."""

OWN = "TRIALBED_"
MARK = "TRIALBED_WORKER"


def sandboxed_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with the worker's own folder as home and for temporary files and caches.

    Variables that say where Trialbed keeps things, or that lead to other programs of the user, are left out.
    """
    out = (OWN, *SOCKETS)
    kept = {
        name: value
        for name, value in environment.items()
        if name == MARK or not (name in PLACES or name.startswith(out))
    }
    # Packages cannot be written to, so Python need not try to keep bytecode there.
    return kept | {name: str(folder / place) for name, place in FOLDERS.items()} | {"PYTHONDONTWRITEBYTECODE": "1"}


def make_folders(folder: Path) -> None:
    """Make the folders that the environment names."""
    for place in FOLDERS.values():
        (folder / place).mkdir(parents=True, exist_ok=True)


class Descriptors(ExitStack):
    """Opens descriptors, and closes them in this process when the context is left.

    Attributes:
        passed: those that the process must inherit.
    """

    passed: tuple[int, ...] = ()

    def pipe(self) -> tuple[int, int]:
        """A pipe, whose end for writing is inherited; reading does not block."""
        readable, writable = os.pipe()
        self.callback(os.close, readable)
        self.callback(os.close, writable)
        os.set_blocking(readable, False)
        self.passed += (writable,)
        return readable, writable

    def text(self, text: str) -> int:
        """An inherited file without a name that holds a text."""
        file = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it is closed with the others
        file.write(text.encode())
        file.seek(0)
        self.passed += (file.fileno(),)
        return file.fileno()

    def json(self, value: Any) -> int:
        """An inherited file without a name that holds a value as JSON."""
        return self.text(json.dumps(value))


@dataclass(frozen=True)
class SandboxedWorker:
    """A worker that is about to be started in a sandbox.

    Attributes:
        command: of the worker itself.
        folder: its own, the only one that it may write to.
        hidden: files and folders that it must not see.
        server: the only one that it may connect to.
        descriptors: those that it inherits.
        report: the descriptor to which its launcher writes the mechanisms that hold.
    """

    command: Sequence[str]
    folder: Path
    interpreter: Interpreter
    hidden: Sequence[Path]
    server: ServerAddress
    descriptors: Descriptors
    report: int

    def launcher(self, name: str, *arguments: str, policy: Mapping[str, Any]) -> list[str]:
        """The command of a launcher, which is given its policy as an open file."""
        descriptor = self.descriptors.json({**policy, "report": self.report})
        return [*ALONE, str(LAUNCHERS / name), *arguments, str(descriptor)]
