"""Deadlines and wall times."""

from __future__ import annotations

from support.cases import for_each

from trialbed_plugins.executors._worker import Deadline, Stopwatch


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def test_a_deadline_passes():
    clock = Clock()
    deadline = Deadline(2.0, 0.5, clock)
    for _ in range(4):
        assert deadline.left > 0
        clock.time += 0.5
        deadline.check()
    assert (deadline.left, deadline.held) == (0, 0)


def test_time_in_which_the_engine_did_not_run_does_not_count():
    clock = Clock()
    deadline = Deadline(2.0, 0.5, clock)
    clock.time += 9.5
    deadline.check()
    assert (deadline.left, deadline.held) == (1.5, 9.0)
    deadline.check()
    assert deadline.held == 9.0


def test_a_deadline_can_be_extended():
    deadline = Deadline(2.0, 0.5, Clock())
    deadline.extend(3.0)
    assert (deadline.left, deadline.held) == (5.0, 0.0)


def test_seconds_are_excused_once():
    deadline = Deadline(2.0, 0.5, Clock())
    for total, left in ((3.0, 5.0), (3.0, 5.0), (4.0, 6.0), (0.0, 6.0)):
        deadline.excuse(total)
        assert (deadline.left, deadline.held) == (left, 0.0)


def test_the_first_start_and_the_first_stop_count():
    clock = Clock()
    watch = Stopwatch(clock)
    watch.stop()
    assert watch.seconds() == 0.0
    for _ in range(2):
        watch.start()
        clock.time += 1.0
    for _ in range(2):
        watch.stop()
        clock.time += 1.0
    assert watch.seconds() == 2.0


@for_each(
    ("held", "claimed", "seconds"),
    [
        (0.0, 0.1, 10.0),
        (0.0, 10.25, 10.25),
        (0.0, 99.0, 10.5),
        (6.0, 7.0, 7.0),
        (6.0, 0.1, 4.0),
        (6.0, 99.0, 10.5),
        (60.0, -1.0, 0.0),
    ],
)
def test_the_workers_figure_counts_only_within_what_the_engine_cannot_tell(held, claimed, seconds):
    clock = Clock()
    watch = Stopwatch(clock)
    clock.time += 0.5
    watch.start()
    clock.time += 10.0
    watch.stop()
    assert watch.seconds(held, claimed) == seconds
