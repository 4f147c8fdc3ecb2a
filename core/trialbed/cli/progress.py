"""Parts of every progress on stderr: the bar, the lines without a terminal, and the hint after an early end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

LINES = 10
"""Number of lines that are printed where there is no terminal."""


class Resumable(Protocol):
    """Progress of work that can be resumed."""

    def end(self) -> None:
        """Close the bar."""

    def print_resume_hint(self) -> None:
        """Print the work that is kept, and how to resume."""


Shown = TypeVar("Shown", bound=Resumable)


@contextmanager
def hint_on_early_end(shown: Shown) -> Iterator[Shown]:
    """Yield the progress, and print how to resume if the body raises an exception."""
    try:
        yield shown
    except BaseException:
        shown.end()
        shown.print_resume_hint()
        raise


def is_line_due(done: int, total: int) -> bool:
    """Return whether another tenth of the whole has just been completed."""
    return done == total or done * LINES // total > (done - 1) * LINES // total


def new_bar() -> Bar:
    """Return a bar on stderr that disappears at its end; its tasks have a field ``failed``, a text behind the bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
