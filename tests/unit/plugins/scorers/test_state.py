"""The score of the final state."""

from __future__ import annotations

import pytest
from support.scoring import scores


@pytest.mark.parametrize(("states", "value"), [(({"a": 1}, {"a": 1}), 1.0), (({"a": 1}, {}), 0.0), (({}, None), 0.0)])
async def test_the_state_is_right_or_not(states: tuple[object, object], value: float) -> None:
    assert (await scores(states=states))["final_state"].value == value


async def test_a_query_without_a_state_has_no_such_score() -> None:
    assert "final_state" not in await scores()
