"""Progress of runs from Python, which appears once a run takes long."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from trialbed.cli.progress import PlainProgress, new_display
from trialbed.cli.run._progress import TrialProgress
from trialbed.engine import RunProgress
from trialbed.records import Run, TrialResult

WAIT = 2.0
"""Seconds after which a run takes long."""


def function_progress(wanted: bool | None) -> RunProgress:
    """Return the progress of a function that runs trials: on standard error, or none.

    Args:
        wanted: None to show it where a run takes long, and a person may be looking: at a terminal, or in a notebook.
    """
    if wanted is None:
        return LateProgress(new_progress) if sys.stderr.isatty() or in_notebook() else RunProgress()
    return new_progress() if wanted else RunProgress()


def new_progress() -> TrialProgress:
    """Return progress in the display that suits stderr."""
    return TrialProgress(new_display())


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class LateProgress(RunProgress):
    """Progress that is shown from ``WAIT`` seconds after the run began.

    Args:
        make: makes the progress that is shown.
    """

    def __init__(self, make: Callable[[], TrialProgress]) -> None:
        self._make = make
        self._shown: TrialProgress | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._kept: list[Callable[[TrialProgress], None]] = []

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Begin to wait."""
        self._call(lambda shown: shown.begin(run, total=total, done=done))
        self._timer = asyncio.get_running_loop().call_later(WAIT, self._show)

    def advance(self, result: TrialResult) -> None:
        """Count a trial."""
        self._call(lambda shown: shown.advance(result))

    def again(self, count: int) -> None:
        """Count trials that are attempted again no longer."""
        self._call(lambda shown: shown.again(count))

    def note(self, text: str) -> None:
        """Show a note at once."""
        (self._shown or TrialProgress(PlainProgress())).note(text)

    def wait(self, flights: str) -> None:
        """Show what takes long, if steps are shown."""
        if self._shown is not None:
            self._shown.wait(flights)

    def end(self) -> None:
        """Show nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._shown is not None:
            self._shown.end()

    def _call(self, method: Callable[[TrialProgress], None]) -> None:
        """Show a step, or keep it until steps are shown."""
        if self._shown is None:
            self._kept.append(method)
        else:
            method(self._shown)

    def _show(self) -> None:
        self._shown = self._make()
        for method in self._kept:
            method(self._shown)
