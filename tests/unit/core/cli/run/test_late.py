"""Progress of runs from Python: shown once a run takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest
from support.trials import ended

from trialbed.cli.progress import LiveProgress, PlainProgress, new_display
from trialbed.cli.run._progress import LateProgress, TrialProgress, function_progress, new_progress
from trialbed.engine import RunProgress
from trialbed.records import Run

RUN = cast("Run", SimpleNamespace(run_id="R-1"))


class Loop:
    """An event loop whose timers run by hand."""

    due: Callable[[], None]

    def call_later(self, _delay: float, due: Callable[[], None]) -> Loop:
        self.due = due
        return self

    def cancel(self) -> None:
        self.due = lambda: None


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    loop = Loop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    return loop


@pytest.mark.parametrize("is_long", [False, True])
def test_it_is_shown_where_the_run_takes_long(loop: Loop, capsys: pytest.CaptureFixture[str], is_long: bool) -> None:
    progress = LateProgress(new_progress)
    progress.begin(RUN, total=3, done=0)
    progress.advance(ended())
    if is_long:
        loop.due()
    progress.advance(ended())
    progress.end()
    loop.due()
    shown = capsys.readouterr().err.splitlines()
    assert shown == (["run R-1: 3 trials", "[1/3]", "[2/3]"] if is_long else [])


def test_without_a_terminal_or_a_notebook_it_is_shown_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [type(function_progress(wanted)) for wanted in (None, False, True)] == [
        RunProgress,
        RunProgress,
        TrialProgress,
    ]
    assert type(new_display()) is PlainProgress
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert [type(function_progress(wanted)) for wanted in (None, False, True)] == [
        LateProgress,
        RunProgress,
        TrialProgress,
    ]
    assert type(new_display()) is LiveProgress
