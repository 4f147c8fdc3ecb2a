"""What lies behind requirements that name local files and folders, which their text does not tell."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from trialbed.environments._origin import direct_url, local_path

DECLARATIONS = ("pyproject.toml", "setup.cfg", "setup.py")
"""What decides on the dependencies and entry points of an editable checkout; its code takes effect by itself."""

LEFT_OUT = ("build", "dist", "__pycache__")

_LOCAL = re.compile(r"(?P<editable>-e\s+)?(?:\S+\s+@\s+)?(?P<url>file:[^\s#]+)")


def states(lines: Iterable[str]) -> tuple[str, ...]:
    """A comment line per local file or folder that the requirements name: which state of it they mean."""
    return tuple(sorted(_states(lines)))


def local_url(line: str) -> str | None:
    """The ``file:`` URL in a line of a requirements file."""
    found = _LOCAL.match(line)
    return found["url"] if found else None


def _states(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        found = _LOCAL.match(line)
        path = local_path(found["url"]) if found else None
        if found and path is not None and path.exists():
            yield f"# {found['url']}: sha256 {_digest(path, found['url'], editable=bool(found['editable']))}"


def _digest(path: Path, url: str, *, editable: bool) -> str:
    if path.is_file():
        return _of_files([path], path.parent)
    if editable:
        return _of_files([path / name for name in DECLARATIONS if (path / name).is_file()], path)
    return _as_installed(url) or _of_files(_tree(path), path)


def _as_installed(url: str) -> str | None:
    """The state in which a folder was installed here: it may have changed since, which does not matter yet."""
    for installed in distributions():
        if (record := installed.read_text("RECORD")) and direct_url(installed).get("url") == url:
            return hashlib.sha256(record.encode()).hexdigest()
    return None


def _tree(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in LEFT_OUT or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _tree(path)
        else:
            yield path


def _of_files(files: Iterable[Path], folder: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
