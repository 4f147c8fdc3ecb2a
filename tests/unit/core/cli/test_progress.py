"""Progress of a run where there is no terminal, and of runs from Python."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.trials import ended

from trialbed.api import function_progress
from trialbed.cli.progress import LiveProgress, PlainProgress, followed, new_display
from trialbed.cli.run_progress import TrialProgress
from trialbed.engine import RunProgress
from trialbed.records import Run


@dataclass
class Clock:
    """A clock that is set."""

    now: float

    def __call__(self) -> float:
        return self.now


RUN = cast("Run", SimpleNamespace(run_id="R-1"))


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == "", "progress belongs on stderr"
    return captured.err.splitlines()


def advance(total: int, *, done: int = 0, **settings: Any) -> None:
    shown = TrialProgress(PlainProgress())
    shown.begin(RUN, total=total, done=done)
    for _ in range(total - done):
        shown.advance(ended(**settings))
    shown.end()


@pytest.mark.parametrize("total", [1, 7, 10, 99, 1000])
def test_a_long_run_gives_a_line_per_tenth(capsys: pytest.CaptureFixture[str], total: int) -> None:
    advance(total)
    shown = lines(capsys)[1:]
    assert len(shown) == min(total, 10)
    assert shown[-1] == f"[{total}/{total}]"


def test_the_first_failure_of_each_kind_is_shown_with_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TrialProgress(PlainProgress())
    shown.begin(RUN, total=30, done=0)
    for _ in range(2):
        shown.advance(ended("crash", "it\n died"))
    shown.advance(ended("agent", "x" * 999))
    crash, agent = lines(capsys)[1:3]
    assert crash == "reference, task 1: crash: it died"
    assert len(agent) < 200


def run_with(*seconds: float, total: int) -> tuple[TrialProgress, Clock]:
    """Progress of a run whose trials have taken so long, and its clock."""
    clock = Clock(100.0)
    shown = TrialProgress(PlainProgress(), clock)
    shown.begin(RUN, total=total, done=0)
    for taken in seconds:
        clock.now += taken
        shown.advance(ended())
    return shown, clock


def test_the_time_left_is_that_of_the_pace_once_three_trials_have_ended() -> None:
    assert run_with(300.0, 20.0, total=16)[0].left() == ""
    assert run_with(300.0, 20.0, 40.0, total=16)[0].left() == ", about 26 min left"
    assert run_with(*[12.0] * 10, total=19)[0].left() == ", about 108 s left"
    assert run_with(0.1, 0.1, 0.1, total=16)[0].left() == ""


def test_a_run_says_now_and_then_that_it_goes_on_while_no_trial_ends(capsys: pytest.CaptureFixture[str]) -> None:
    shown, clock = run_with(20.0, 20.0, 20.0, total=6)
    lines(capsys)
    for _ in range(28):
        clock.now += 5
        shown.goes_on()
    assert lines(capsys) == ["[3/6] after 90 s", "[3/6] after 2 min"]
    shown.advance(ended())
    clock.now += 29
    shown.goes_on()
    assert len(lines(capsys)) == 1


def test_a_run_that_ends_early_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), followed(TrialProgress(new_display())) as shown:
        _one_of_thirty(shown)
    assert lines(capsys)[-1] == "1 of 30 trials is kept; the same command continues from there, --fresh starts over."


def _one_of_thirty(shown: RunProgress) -> None:
    shown.begin(RUN, total=30, done=0)
    shown.advance(ended())
    raise KeyboardInterrupt


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
