from __future__ import annotations

import pytest
from support.trials import ended

from trialbed.engine._session import FIRST_TRIALS, FailFast
from trialbed.errors import NothingMeasured
from trialbed.records import FailureKind


def test_a_run_without_a_model_is_given_up() -> None:
    fail_fast = FailFast()
    for _ in range(FIRST_TRIALS - 1):
        assert fail_fast.admit(ended("model")) == ()
    with pytest.raises(NothingMeasured, match="could not reach their model: refused"):
        fail_fast.admit(ended("model"))


def test_a_short_run_without_a_model_is_given_up_at_its_end() -> None:
    fail_fast = FailFast()
    fail_fast.admit(ended("server"))
    with pytest.raises(NothingMeasured, match="could not reach their server"):
        fail_fast.end()


@pytest.mark.parametrize("kind", [None, "agent", "timeout"])
def test_one_trial_that_says_something_is_enough_to_go_on(kind: FailureKind | None) -> None:
    fail_fast = FailFast()
    held, telling = ended("model"), ended(kind)
    assert fail_fast.admit(held) == ()
    assert fail_fast.admit(telling) == (held, telling)
    for _ in range(3 * FIRST_TRIALS):
        failed = ended("model")
        assert fail_fast.admit(failed) == (failed,)
    fail_fast.end()
