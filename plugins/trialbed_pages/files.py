"""Pages about result files, which products show through their viewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trialbed.contracts import FileView, FileViewer
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import DataError, UsageError
from trialbed.views import html_parts

if TYPE_CHECKING:
    from markupsafe import Markup

SUFFIXES = (".json", ".jsonl")
"""The endings of the files in a folder that viewers are asked about."""

PIECE = 4096
"""Bytes below which a file without rows, which may have ends of lines, is looked for."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class FileGroup:
    """The pages of one viewer.

    Attributes:
        name: the viewer's.
        contents: names the contents of its files.
    """

    name: str
    contents: str
    views: Sequence[FileView]


class FilePages:
    """Pages about files and the files of folders, made when they are opened and kept until a file changes.

    Args:
        paths: files, and folders, whose own files are shown; they are looked through each time.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._contents: dict[tuple[str, str], tuple[Stamp, Markup]] = {}

    def __bool__(self) -> bool:
        """Return whether there are any to show."""
        return bool(self._paths)

    def check(self) -> None:
        """Check that every file can be shown.

        Raises:
            UsageError: one that was named is not there, or no viewer recognises it.
        """
        viewers = _viewers()
        for path in self._paths:
            if not path.exists():
                raise UsageError(f"{path}: no such file or folder")
            if path in self.empty_files():
                raise UsageError(f"{path}: has no rows, so there is nothing to show")
            if path.is_file() and self._viewer_of(path, viewers) is None:
                kinds = ", ".join(sorted(viewer.contents for viewer in viewers.values()))
                raise UsageError(f"{path}: nothing that can be shown; files may be of {kinds}")

    def empty_files(self) -> list[Path]:
        """Return the files that have no rows and so no page, such as those of a verification without an answer."""
        return [one for one in self._files() if one.stat().st_size < PIECE and not one.read_bytes().strip()]

    def groups(self) -> list[FileGroup]:
        """Return the pages of each viewer that has any."""
        viewers = _viewers()
        chosen: dict[str, list[Path]] = {name: [] for name in viewers}
        for path in self._files():
            name = self._viewer_of(path, viewers)
            if name is not None:
                chosen[name].append(path)
        return [
            FileGroup(name, viewers[name].contents, viewers[name].views(files))
            for name, files in chosen.items()
            if files
        ]

    def page(self, viewer: str, name: str) -> tuple[FileView, Markup]:
        """Return a view and its content.

        Raises:
            DataError: there is no such view, or a file cannot be read.
        """
        view = next(
            (view for group in self.groups() if group.name == viewer for view in group.views if view.name == name), None
        )
        if view is None:
            raise DataError("there is no such page about files")
        stamp = tuple(map(_stamp, view.files))
        known, content = self._contents.get((viewer, name), ((), None))
        if content is None or known != stamp:
            content = html_parts(view.title, view.parts())
            self._contents[viewer, name] = stamp, content
        return view, content

    def _files(self) -> Iterator[Path]:
        seen = set[Path]()
        for path in self._paths:
            own = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES) if path.is_dir() else [path]
            for one in own:
                if one.is_file() and one.resolve() not in seen:
                    seen.add(one.resolve())
                    yield one

    def _viewer_of(self, path: Path, viewers: dict[str, FileViewer]) -> str | None:
        """Return the name of the first viewer that recognises a file."""
        return next((name for name, viewer in viewers.items() if viewer.recognises(path)), None)


def _viewers() -> dict[str, FileViewer]:
    return {driver.name: load_driver("viewers", driver.name)() for driver in list_drivers("viewers")}


def _stamp(path: Path) -> tuple[str, int, int]:
    about = path.stat()
    return str(path), about.st_mtime_ns, about.st_size
