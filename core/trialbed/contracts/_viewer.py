"""The contract of a viewer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from trialbed.views import Disclosures, Plot, Table


@dataclass(frozen=True)
class FileView:
    """A page about files.

    Attributes:
        name: the end of its address: lower-case letters, digits and hyphens; no other view of the viewer has it.
        title: its heading.
        files: its subjects.
        parts: makes its content; called when the page is opened, in any thread, and again once a file has changed.
            It may raise a DataError or a UsageError, whose text is shown instead.
    """

    name: str
    title: str
    files: Sequence[Path]
    parts: Callable[[], Sequence[Table | Plot | Disclosures]]


class FileViewer(ABC):
    """Shows result files of one kind in ``bench view``.

    A driver of the group ``trialbed.viewers`` is a subclass that takes no arguments.

    Class attributes:
        contents: a plural noun for its subjects, such as "vendors"; the heading of its files.
    """

    contents: ClassVar[str]

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Return whether a file is of this kind; it may be anything, and is never written."""

    @abstractmethod
    def views(self, files: Sequence[Path]) -> Sequence[FileView]:
        """The pages about these files, all of this kind, in the order in which they are to be read."""
