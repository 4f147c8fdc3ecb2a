"""A trial that is run again has several attempts, of which one counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trialbed import open_store
from trialbed.errors import DataError
from trialbed.records import Failure, FailureKind, Run, TrialResult
from trialbed.store import Store, counted_attempts

MakeRun = Callable[..., Run]
Attempt = Callable[..., TrialResult]


@pytest.fixture
def attempt(make_trial: Callable[..., TrialResult]) -> Attempt:
    """Makes an attempt: its number, how it failed, and the code of its adapter."""

    def make(number: int, kind: FailureKind | None = None, code: str = "a", query_id: int = 1) -> TrialResult:
        trial = make_trial(query_id)
        outcome, scores = trial.outcome, trial.scores
        if kind is not None:
            outcome = outcome.model_copy(update={"answer": None, "failure": Failure(kind=kind, message="refused")})
            scores = ()
        changes = {"attempt": number, "outcome": outcome, "scores": scores, "adapter_digest": code}
        return trial.model_copy(update=changes)

    return make


def test_a_trial_that_was_not_measured_is_not_finished(store: Store, make_run: MakeRun, attempt: Attempt) -> None:
    store.create_run(make_run())
    missed = attempt(0, "endpoint")
    store.add_trial("r1", missed)
    assert store.count_measured("r1") == 0
    (summary,) = store.each_attempt_summary("r1")
    assert (summary.key, summary.attempt, summary.status) == (missed.key, 0, "not measured")
    assert counted_attempts(store.each_attempt("r1")) == [missed]
    measured = attempt(1)
    store.add_trial("r1", measured)
    assert store.count_measured("r1") == 1
    assert counted_attempts(store.each_attempt("r1")) == [measured]
    assert list(store.each_attempt("r1")) == [missed, measured]


def test_a_failed_trial_is_finished(store: Store, make_run: MakeRun, attempt: Attempt) -> None:
    store.create_run(make_run())
    store.add_trial("r1", attempt(0, "crash"))
    assert store.count_measured("r1") == 1


def test_an_attempt_is_added_once(store: Store, make_run: MakeRun, attempt: Attempt) -> None:
    store.create_run(make_run())
    for number in (0, 1):
        store.add_trial("r1", attempt(number, "endpoint"))
    with pytest.raises(DataError, match="already has attempt 1 of the trial of reference on task 1, repeat 0"):
        store.add_trial("r1", attempt(1))
    with pytest.raises(DataError, match="already has attempt 2 of the trial of reference on task 1, repeat 0"):
        store.add_trials("r1", [attempt(2), attempt(3), attempt(2)])
    with pytest.raises(DataError, match="already has attempt 0 of the trial of reference on task 1, repeat 0"):
        store.add_trials("r1", [attempt(2), attempt(0)])


@pytest.mark.parametrize(
    ("attempts", "counted"),
    [
        pytest.param([(0, "crash", "a"), (1, None, "a")], 0, id="a second try does not improve a score"),
        pytest.param([(0, "crash", "a"), (1, None, "b")], 1, id="unless the code changed"),
        pytest.param([(0, "crash", "a"), (1, "agent", "b"), (2, None, "b")], 1, id="and then the first of that code"),
        pytest.param(
            [(0, "crash", "a"), (1, "crash", "b"), (2, None, "a")], 0, id="code that comes back has its score"
        ),
        pytest.param(
            [(0, "server", "a"), (1, "crash", "a"), (2, None, "a")], 1, id="what was not measured is passed over"
        ),
        pytest.param([(0, "crash", "a"), (1, "endpoint", "b")], 0, id="also where it was run with other code"),
        pytest.param([(0, "server", "a"), (1, "endpoint", "a")], 1, id="without a measurement the last one counts"),
    ],
)
def test_the_attempt_that_counts(
    attempt: Attempt, attempts: list[tuple[int, FailureKind | None, str]], counted: int
) -> None:
    given = [attempt(*one) for one in attempts]
    other = attempt(0, query_id=2)
    assert counted_attempts([*given, other]) == [given[counted], other]
    assert counted_attempts([other, *reversed(given)]) == [other, given[counted]]


def test_readers_see_the_attempt_that_counts_and_all_of_them(
    store: Store, location: str, make_run: MakeRun, attempt: Attempt
) -> None:
    store.create_run(make_run(status="incomplete"))
    given = [attempt(0, "endpoint"), attempt(1, "agent"), attempt(2), attempt(0, "server", query_id=2)]
    for one in given:
        store.add_trial("r1", one)
    with open_store(location) as reader:
        (run,) = reader.runs(status="incomplete")
        assert [(trial.key.query_id, trial.attempt) for trial in run.trials()] == [(1, 1), (2, 0)]
        assert [trial.attempt for trial in run.trials(status="failed")] == [1]
        assert run.trials(failure="endpoint") == ()  # the attempt that failed in this way does not count
        assert run.trials(status="answered") == ()
        assert [trial.key.query_id for trial in run.trials(status="not measured")] == [2]
        assert run.trial("reference", 1) == given[1]
        assert list(run.attempts()) == given
        assert [one.status for one in run.attempts(query_id=1)] == ["not measured", "failed", "answered"]
        assert {one.adapter_digest for one in run.attempts()} == {"a"}
