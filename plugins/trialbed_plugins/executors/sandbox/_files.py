"""The files that a sandboxed worker sees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

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
