"""Progress of runs from Python: shown once a run takes long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from support.trials import ended

from trialbed.api import function_progress
from trialbed.cli.progress import LiveProgress, PlainProgress, new_display
from trialbed.cli.run._progress import TrialProgress
from trialbed.engine import RunProgress
from trialbed.records import Run

RUN = cast("Run", SimpleNamespace(run_id="R-1"))


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_it_is_shown_where_the_run_takes_long(capsys: pytest.CaptureFixture[str], seconds: float) -> None:
    now = 0.0
    progress = TrialProgress(PlainProgress(), lambda: now, after=2.0)
    progress.begin(RUN, total=3, done=0)
    progress.advance(ended("crash"))
    now = seconds
    progress.advance(ended())
    progress.end()
    shown = capsys.readouterr().err.splitlines()
    assert shown == (["run R-1: 3 trials", "[2/3] errors: 1 crash"] if seconds > 2 else [])


def test_without_a_terminal_or_a_notebook_it_is_shown_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [type(function_progress(wanted)) for wanted in (None, False, True)]
    assert kinds == [RunProgress, RunProgress, TrialProgress]
    assert type(new_display()) is PlainProgress
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    kinds = [type(function_progress(wanted)) for wanted in (None, False, True)]
    assert kinds == [TrialProgress, RunProgress, TrialProgress]
    assert type(new_display()) is LiveProgress
