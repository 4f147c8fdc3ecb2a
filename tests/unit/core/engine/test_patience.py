from __future__ import annotations

import pytest
from support.trials import ended

from trialbed.engine._patience import PATIENCE, Patience
from trialbed.errors import NothingMeasured
from trialbed.records import FailureKind


def test_a_run_without_a_model_is_given_up() -> None:
    patience = Patience()
    for _ in range(PATIENCE - 1):
        assert patience.admit(ended("model")) == ()
    with pytest.raises(NothingMeasured, match="could reach its model: refused"):
        patience.admit(ended("model"))


def test_a_short_run_without_a_model_is_given_up_at_its_end() -> None:
    patience = Patience()
    patience.admit(ended("server"))
    with pytest.raises(NothingMeasured, match="could reach its server"):
        patience.end()


@pytest.mark.parametrize("kind", [None, "agent", "timeout"])
def test_one_trial_that_says_something_is_enough_to_go_on(kind: FailureKind | None) -> None:
    patience = Patience()
    held, telling = ended("model"), ended(kind)
    assert patience.admit(held) == ()
    assert patience.admit(telling) == (held, telling)
    for _ in range(3 * PATIENCE):
        failed = ended("model")
        assert patience.admit(failed) == (failed,)
    patience.end()
