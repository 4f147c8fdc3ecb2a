"""The contract of comparers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import click

    from trialbed.views import Table, TestCase


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
