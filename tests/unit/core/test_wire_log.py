from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import ApiCall, ApiRef, ModelCall, Timing, WireLog
from trialbed.wire_log import compute_timing

NOON = datetime(2026, 1, 2, tzinfo=UTC)
Spans = list[tuple[float, float]]


def timing(wall: float, model: Spans, tool: Spans, waiting: Spans = ()) -> Timing:
    """The timing of calls: (started, duration); waiting: (started, waited), after which the answer came at once."""
    model_calls = tuple(
        ModelCall(
            started=started,
            duration=duration,
            waited=waited,
            status=200,
            request="",
            response="",
            request_bytes=0,
            response_bytes=0,
        )
        for started, duration, waited in [(*span, 0) for span in model] + [(*span, span[1]) for span in waiting]
    )
    ref = ApiRef(category="C", tool_name="t", api_name="a")
    api_calls = tuple(
        ApiCall(started=started, duration=duration, api=ref, offered=True, arguments={}) for started, duration in tool
    )
    return compute_timing(wall, WireLog(trial="t", opened_at=NOON, model_calls=model_calls, api_calls=api_calls))


@for_each(
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


@for_each(
    ("model", "tool", "waiting", "expected"),
    [
        ([], [], [(1, 3)], (0, 0, 3, 7)),
        ([], [], [(1, 3), (2, 3)], (0, 0, 4, 6)),  # parallel calls count once
        ([(2, 4)], [], [(1, 3)], (4, 0, 1, 5)),  # another request was answered meanwhile: model
        ([], [(2, 4)], [(1, 3)], (0, 4, 1, 5)),
        ([], [], [(8, 9)], (0, 0, 9, 1)),
        ([(0, 2)], [], [(0, 30)], (2, 0, 8, 0)),
    ],
)
def test_waiting_for_repetitions_is_no_time_of_the_model_or_the_framework(
    model: Spans, tool: Spans, waiting: Spans, expected: tuple[float, ...]
) -> None:
    found = timing(10, model, tool, waiting)
    assert (found.model, found.tool, found.waiting, found.framework) == pytest.approx(expected)


spans = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=6)


@given(st.floats(0, 300), spans, spans, spans)
def test_no_part_is_negative_and_the_parts_add_up(wall: float, model: Spans, tool: Spans, waiting: Spans) -> None:
    found = timing(wall, model, tool, waiting)
    assert min(found.model, found.tool, found.waiting, found.framework) >= 0
    assert found.model + found.tool + found.waiting + found.framework == pytest.approx(wall, abs=1e-9)
