from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.records import ApiCall, ApiRef, ModelCall, Timing, WireLog
from trialbed.results import compute_timing

NOON = datetime(2026, 1, 2, tzinfo=UTC)
Spans = list[tuple[float, float]]


def timing(wall: float, model: Spans, tool: Spans) -> Timing:
    model_calls = tuple(
        ModelCall(
            started=started, duration=duration, status=200, request="", response="", request_bytes=0, response_bytes=0
        )
        for started, duration in model
    )
    ref = ApiRef(category="C", tool_name="t", api_name="a")
    api_calls = tuple(
        ApiCall(started=started, duration=duration, api=ref, offered=True, arguments={}) for started, duration in tool
    )
    return compute_timing(wall, WireLog(trial="t", opened_at=NOON, model_calls=model_calls, api_calls=api_calls))


@pytest.mark.parametrize(
    ("wall", "model", "tool", "expected"),
    [
        (10, [], [], (0, 0, 10)),
        (10, [(0, 2), (5, 1)], [(2, 3)], (3, 3, 4)),
        (10, [(0, 4), (2, 4)], [], (6, 0, 4)),  # parallel calls count once
        (10, [(0, 5), (1, 1)], [], (5, 0, 5)),  # one within the other
        (10, [], [(0, 3), (1, 3)], (0, 4, 6)),
        (10, [(0, 4)], [(2, 4)], (4, 2, 4)),  # both waited for: model
        (3, [(0, 4)], [(4, 2)], (3, 0, 0)),  # calls that outlive the agent
        (5, [(0, 4)], [(4, 2)], (4, 1, 0)),
    ],
)
def test_wall_time_is_split(wall: float, model: Spans, tool: Spans, expected: tuple[float, float, float]) -> None:
    found = timing(wall, model, tool)
    assert (found.model, found.tool, found.framework) == pytest.approx(expected)
    assert found.wall == wall


spans = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=6)


@given(st.floats(0, 300), spans, spans)
def test_no_part_is_negative_and_the_parts_add_up(wall: float, model: Spans, tool: Spans) -> None:
    found = timing(wall, model, tool)
    assert min(found.model, found.tool, found.framework) >= 0
    assert found.model + found.tool + found.framework == pytest.approx(wall, abs=1e-9)
