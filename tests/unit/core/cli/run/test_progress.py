"""Progress where there is no terminal."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.trials import ended

from trialbed.cli.progress import PlainProgress, followed, new_display
from trialbed.cli.run._progress import TrialProgress
from trialbed.engine import RunProgress
from trialbed.errors import NothingMeasured
from trialbed.records import FailureKind, Run


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


def test_the_run_and_the_end_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    advance(3)
    assert lines(capsys) == ["run R-1: 3 trials", "[1/3]", "[2/3]", "[3/3]"]


@pytest.mark.parametrize("total", [1, 7, 10, 99, 1000])
def test_a_long_run_gives_a_line_per_tenth(capsys: pytest.CaptureFixture[str], total: int) -> None:
    advance(total)
    shown = lines(capsys)[1:]
    assert len(shown) == min(total, 10)
    assert shown[-1] == f"[{total}/{total}]"


def test_what_is_kept_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    advance(4, done=3)
    assert lines(capsys) == ["run R-1: 4 trials, 3 of them kept from before", "[4/4]"]


def test_failures_are_counted_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TrialProgress(PlainProgress())
    shown.begin(RUN, total=3, done=0)
    kinds: tuple[FailureKind | None, ...] = ("timeout", None, "crash")
    for kind in kinds:
        shown.advance(ended(kind))
    assert lines(capsys)[-1] == "[3/3] errors: 1 crash, 1 timeout"


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


def test_trials_that_are_attempted_again_are_not_counted_twice(capsys: pytest.CaptureFixture[str]) -> None:
    shown = TrialProgress(PlainProgress())
    shown.begin(RUN, total=2, done=0)
    shown.advance(ended("endpoint"))
    shown.advance(ended())
    shown.again(1)
    shown.advance(ended())
    assert lines(capsys)[-2:] == [
        "1 trial was not measured and will be attempted again",
        "[2/2]",
    ]


def test_what_was_not_measured_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def nothing_measured(shown: RunProgress) -> None:
        shown.begin(RUN, total=1, done=0)
        shown.advance(ended("endpoint"))
        raise NothingMeasured("no endpoint")

    with pytest.raises(NothingMeasured), followed(TrialProgress(new_display())) as shown:
        nothing_measured(shown)
    assert "kept" not in capsys.readouterr().err


def test_a_run_that_ends_early_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), followed(TrialProgress(new_display())) as shown:
        _one_of_thirty(shown)
    assert lines(capsys)[-1] == "1 of 30 trials is kept; the same command continues from there, --fresh starts over."


def test_a_run_that_never_began_promises_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), followed(TrialProgress(new_display())):
        raise ValueError("broken")
    assert lines(capsys) == []


def _one_of_thirty(shown: RunProgress) -> None:
    shown.begin(RUN, total=30, done=0)
    shown.advance(ended())
    raise KeyboardInterrupt
