from __future__ import annotations

from datetime import UTC, datetime

import pytest

from trialbed.engine._patience import PATIENCE, Patience
from trialbed.errors import NothingMeasured
from trialbed.records import Failure, FailureKind, Outcome, Timing, TrialKey, TrialResult, WireLog


def result(kind: FailureKind | None) -> TrialResult:
    failure = Failure(kind=kind, message="refused") if kind else None
    now = datetime.now(UTC)
    return TrialResult(
        trial="t",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=now, wall_time=1, failure=failure),
        wire=WireLog(trial="t", opened_at=now),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
    )


def test_a_run_without_a_model_is_given_up() -> None:
    patience = Patience()
    for _ in range(PATIENCE - 1):
        assert patience.admit(result("model")) == ()
    with pytest.raises(NothingMeasured, match="could reach its model: refused"):
        patience.admit(result("model"))


def test_a_short_run_without_a_model_is_given_up_at_its_end() -> None:
    patience = Patience()
    patience.admit(result("server"))
    with pytest.raises(NothingMeasured, match="could reach its server"):
        patience.end()


@pytest.mark.parametrize("kind", [None, "agent", "timeout"])
def test_one_trial_that_says_something_is_enough_to_go_on(kind: FailureKind | None) -> None:
    patience = Patience()
    held, telling = result("model"), result(kind)
    assert patience.admit(held) == ()
    assert patience.admit(telling) == (held, telling)
    for _ in range(3 * PATIENCE):
        failed = result("model")
        assert patience.admit(failed) == (failed,)
    patience.end()
