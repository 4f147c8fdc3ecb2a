"""Laws that the tool-call metrics keep for all calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import tool_call_accuracy, tool_call_f1

NAMES = st.sampled_from(["search", "book", "rate"])
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, -0.0]), st.sampled_from(["a", "A ", "b", "1"]),
    st.lists(st.integers(0, 2), max_size=2), st.dictionaries(st.sampled_from("kl"), st.integers(0, 2), max_size=2),
)  # fmt: skip
CALLS = st.builds(ToolCall, NAMES, st.dictionaries(st.sampled_from(["x", "y", "z"]), VALUES, max_size=3))
LISTS = st.lists(CALLS, max_size=5)
SCHEMA = {
    "properties": {
        "x": {"type": ["integer", "string", "null"], "default": 1},
        "y": {"type": "array", "uniqueItems": True},
    }
}
TOOLS = st.sampled_from([{}, {"search": SCHEMA}])
ORDERS = st.sampled_from(["strict", "flexible"])


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


@given(LISTS, LISTS, TOOLS, ORDERS)
@settings(max_examples=examples(0.6))
def test_range(made: Any, right: Any, tools: Any, order: Any) -> None:
    accuracy = tool_call_accuracy(made, right, order=order, tools=tools)
    assert 0 <= accuracy.value <= 1 + 1e-12
    assert 0 <= tool_call_f1(made, right, tools=tools).value <= 1 + 1e-12
    for compat in (
        tool_call_accuracy(made, right, order=order, compat="ragas"),
        tool_call_f1(made, right, compat="ragas"),
    ):
        assert 0 <= compat.value <= 1
        assert str(compat.diagnosis)


@given(LISTS, LISTS, ORDERS)
@settings(max_examples=examples(0.3))
def test_the_diagnosis_has_each_call_once_and_adds_up(made: Any, right: Any, order: Any) -> None:
    diagnosis = tool_call_accuracy(made, right, order=order).diagnosis
    assert sorted(row.made for row in diagnosis.calls if row.made is not None) == list(range(len(made)))
    assert sorted(row.right for row in diagnosis.calls if row.right is not None) == list(range(len(right)))
    points = sum(row.points for row in diagnosis.calls)
    assert diagnosis.value == (near(points / len(diagnosis.calls)) if diagnosis.calls else 1.0)


@given(LISTS, TOOLS, ORDERS)
@settings(max_examples=examples(0.3))
def test_identity(calls: Any, tools: Any, order: Any) -> None:
    assert tool_call_accuracy(calls, calls, order=order, tools=tools).value == near(1.0)
    assert tool_call_f1(calls, calls, tools=tools).value == near(1.0)


@given(LISTS, LISTS)
@settings(max_examples=examples(0.3))
def test_order_never_gives_points(made: Any, right: Any) -> None:
    strict = tool_call_accuracy(made, right, order="strict").value
    assert strict <= tool_call_accuracy(made, right, order="flexible").value + 1e-9


@given(LISTS, LISTS, st.randoms())
@settings(max_examples=examples(0.3))
def test_flexible_order_and_f1_know_no_order(made: Any, right: Any, random: Any) -> None:
    mixed = random.sample(made, len(made))
    flexible = tool_call_accuracy(made, right, order="flexible").value
    assert tool_call_accuracy(mixed, right, order="flexible").value == near(flexible)
    assert tool_call_f1(mixed, right).value == near(tool_call_f1(made, right).value)


@given(st.lists(st.lists(CALLS, min_size=1, max_size=3), max_size=3), st.randoms())
@settings(max_examples=examples(0.3))
def test_calls_of_a_parallel_group_have_no_order(groups: Any, random: Any) -> None:
    made = [call for group in groups for call in random.sample(group, len(group))]
    assert tool_call_accuracy(made, groups).value == near(1.0)


@given(LISTS, st.lists(st.lists(CALLS, min_size=1, max_size=3), min_size=1, max_size=3), st.randoms())
@settings(max_examples=examples(0.3))
def test_a_group_written_in_another_order_is_the_same_group(made: Any, groups: Any, random: Any) -> None:
    mixed = [random.sample(group, len(group)) for group in groups]
    assert tool_call_accuracy(made, mixed).value == near(tool_call_accuracy(made, groups).value)


@given(LISTS, LISTS, ORDERS)
@settings(max_examples=examples(0.3))
def test_a_call_of_a_tool_that_is_not_wanted_never_helps(made: Any, right: Any, order: Any) -> None:
    more = [*made, ToolCall("unwanted", {})]
    assert tool_call_accuracy(more, right, order=order).value <= tool_call_accuracy(made, right, order=order).value
    assert tool_call_f1(more, right).value <= tool_call_f1(made, right).value


@given(st.lists(CALLS, min_size=1, max_size=4), st.data(), ORDERS)
@settings(max_examples=examples(0.3))
def test_a_duplicate_lowers_what_was_right(right: Any, data: Any, order: Any) -> None:
    place = data.draw(st.integers(0, len(right) - 1))
    made = [*right[: place + 1], right[place], *right[place + 1 :]]
    found = tool_call_accuracy(made, right, order=order)
    assert found.value == near(len(right) / (len(right) + 1))
    assert len(found.diagnosis.wrong) == 1
    assert tool_call_f1(made, right).value < 1


@pytest.mark.parametrize(
    "metric",
    [partial(tool_call_accuracy, order="strict"), partial(tool_call_accuracy, order="flexible"), tool_call_f1],
    ids=["strict", "flexible", "f1"],
)
@given(LISTS, st.lists(CALLS, min_size=1, max_size=4), st.data())
@settings(max_examples=examples(0.3))
def test_mending_an_argument_never_harms(metric: Any, made: Any, right: Any, data: Any) -> None:
    """Of a pair of the metric's own alignment, the value that is wrong becomes the one that is wanted."""
    before = metric(made, right)
    pairs = [row for row in before.diagnosis.calls if row.made is not None and row.right is not None and row.points < 1]
    assume(pairs)
    row = data.draw(st.sampled_from(pairs))
    wrong = [argument for argument in row.arguments if argument.points not in (None, 1)]
    assume(wrong)
    argument = data.draw(st.sampled_from(wrong))
    call = made[row.made]
    args = {name: value for name, value in call.args.items() if name != argument.name}
    if argument.name in right[row.right].args:
        args[argument.name] = right[row.right].args[argument.name]
    mended = [*made]
    mended[row.made] = ToolCall(call.name, args)
    assert metric(mended, right).value >= before.value - 1e-9


@given(st.lists(CALLS, min_size=1, max_size=4), st.data(), ORDERS)
@settings(max_examples=examples(0.3))
def test_leaving_a_call_out_lowers_what_was_right(right: Any, data: Any, order: Any) -> None:
    place = data.draw(st.integers(0, len(right) - 1))
    found = tool_call_accuracy([*right[:place], *right[place + 1 :]], right, order=order)
    assert found.value < 1
    assert [row.status for row in found.diagnosis.wrong] == ["missing"]
