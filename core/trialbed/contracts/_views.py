"""The contracts of comparers and viewers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import click

    from trialbed.views import Disclosures, Folded, Plot, Table, TestCase


@dataclass(frozen=True)
class Comparison:
    """The findings of a comparer.

    Attributes:
        document: all of it, as JSON.
        tables: the same for people.
        records: its figures, one per line of CSV, all with the same keys.
        failed: which of the checks that were asked for failed, one line each; any of them is exit code 1.
        page: makes the HTML for ``--format html``; None for a page of the tables.
        tests: for ``--format junit``; a failed check that is not the message of a failed test becomes one.
        title: of a page, which says what was compared.
    """

    document: Any
    tables: Sequence[Table]
    records: Sequence[Mapping[str, Any]]
    failed: Sequence[str] = ()
    page: Callable[[], str] | None = None
    tests: Sequence[TestCase] = ()
    title: str = "Comparison"


class Comparer(ABC):
    """Compares things of one kind for ``bench compare``.

    A driver of the group ``trialbed.comparers`` is a subclass that takes no arguments.

    Class attributes:
        contents: a plural noun for its subjects, such as "runs", used in the help and in errors.
    """

    contents: ClassVar[str]

    def options(self) -> Sequence[click.Option]:
        """Options of ``bench compare`` that are for this kind only."""
        return ()

    @abstractmethod
    def recognises(self, value: str) -> bool:
        """Return whether an argument of the command is of this kind.

        Also called for malformed files: return True if the comparer can report their faults.
        """

    @abstractmethod
    def compare(self, values: Sequence[str], options: Mapping[str, Any]) -> Comparison:
        """Compare.

        Args:
            values: the arguments, all of this kind, in order; the first is the baseline.
            options: the comparer's own options by name, and ``force``.

        Raises:
            UsageError, DataError: they cannot be compared; says why.
        """


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
    parts: Callable[[], Sequence[Table | Plot | Disclosures | Folded]]


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
