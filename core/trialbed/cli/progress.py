"""What every progress on stderr shares: the bar, when a line is due without one, and what follows an early end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

LINES = 10
"""How many lines are printed where there is no terminal."""


class Resumable(Protocol):
    """Progress of what can be gone on with."""

    def end(self) -> None:
        """Close what is open."""

    def say_how_to_resume(self) -> None:
        """Say what is kept, and how to go on."""


Shown = TypeVar("Shown", bound=Resumable)


@contextmanager
def told_if_ended_early(shown: Shown) -> Iterator[Shown]:
    """The progress, which says how to go on if the body is left by an exception."""
    try:
        yield shown
    except BaseException:
        shown.end()
        shown.say_how_to_resume()
        raise


def is_line_due(done: int, total: int) -> bool:
    """Whether a tenth of the whole has just become full."""
    return done == total or done * LINES // total > (done - 1) * LINES // total


def new_bar() -> Bar:
    """A bar on stderr that is taken away at its end; its tasks have a field ``failed``, a text that stands behind."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
