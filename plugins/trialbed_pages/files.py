"""The page about results files of vendors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trialbed.errors import UsageError
from trialbed.views import html_parts

if TYPE_CHECKING:
    from markupsafe import Markup

SUFFIXES = (".json", ".jsonl")
"""The endings of the files in a folder that may be results."""

PIECE = 4096
"""Files with fewer bytes are checked for rows; a file without rows may contain newlines."""

Stamp = tuple[tuple[str, int, int], ...]


class FilePage:
    """The page about files, made when it is opened and kept until a file changes.

    Args:
        paths: files and folders; folders are searched each time, without their subfolders.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._made: tuple[Stamp, Markup] | None = None

    def __bool__(self) -> bool:
        """Return whether there are any to show."""
        return bool(self._paths)

    def check(self) -> None:
        """Check that every file can be shown.

        Raises:
            UsageError: a named file does not exist, has no rows, or is not a results file.
        """
        from trialbed_verify.pages import is_results_file

        for path in self._paths:
            if not path.exists():
                raise UsageError(f"{path}: no such file or folder")
            if path in self.empty_files():
                raise UsageError(f"{path}: has no rows, so there is nothing to show")
            if path.is_file() and not is_results_file(path):
                raise UsageError(f"{path}: not a results file of bench verify, so it cannot be shown")

    def empty_files(self) -> list[Path]:
        """Return files without rows and so without a page, such as from a verification without answers."""
        return [one for one in self._all() if one.stat().st_size < PIECE and not one.read_bytes().strip()]

    def files(self) -> list[Path]:
        """Return the results files, each once."""
        from trialbed_verify.pages import is_results_file

        return [path for path in self._all() if is_results_file(path)]

    def render(self) -> tuple[str, Markup]:
        """Return the title and the content of the page.

        Raises:
            DataError: a file cannot be read.
        """
        from trialbed_verify.pages import file_parts, files_title

        files = self.files()
        title = files_title(files)
        stamp = tuple((str(path), (about := path.stat()).st_mtime_ns, about.st_size) for path in files)
        if self._made is None or self._made[0] != stamp:
            self._made = stamp, html_parts(title, file_parts(files))
        return title, self._made[1]

    def _all(self) -> list[Path]:
        folders = ((path.iterdir() if path.is_dir() else [path]) for path in self._paths)
        own = [sorted(one for one in found if one in self._paths or one.suffix in SUFFIXES) for found in folders]
        return list({one.resolve(): one for found in own for one in found if one.is_file()}.values())
