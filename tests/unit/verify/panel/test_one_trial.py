"""One trial per case shows that a vendor differs, and never that it is the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import for_each
from support.played_vendors import Row, message_of, rows
from support.played_vendors import measured as measured_rows

from trialbed_verify.panel import Measures, Panel, PanelOptions, judge, measure
from trialbed_verify.rows import FileRows

CASES = 400
COMPARISONS = 400
Trials = tuple[list[Measures], list[Measures]]

VENDORS: dict[str, Callable[[int, bool], tuple[str, str] | None]] = {
    "never calls": lambda number, calls: None,
    "inverted": lambda number, calls: None if calls else ("get_weather", f"town {number}"),
    "another tool": lambda number, calls: ("get_news", f"town {number}") if calls else None,
    "another city": lambda number, calls: ("get_weather", "Atlantis") if calls else None,
    "the city of another case": lambda number, calls: ("get_weather", f"town {number + 1}") if calls else None,
}
"""Name -> the vendor's call, as the number of the case and the baseline's decision have it."""


@cache
def answer(number: int, call: tuple[str, str] | None) -> Measures:
    """The measures of an answer to the question for the weather in a town."""
    finish = "tool_calls" if call else "stop"
    made = call and [{"id": "a", "function": {"name": call[0], "arguments": json.dumps({"city": call[1]})}}]
    row = {
        "request": {"model": "m", "messages": [{"role": "user", "content": f"the weather in town {number}?"}]},
        "response": {
            "choices": [{"message": {"content": "It is sunny.", "tool_calls": made}, "finish_reason": finish}]
        },
        "status": "success",
        "outcome": finish,
        "finish_reason": finish,
        "findings": [],
    }
    return measure(row, FileRows(Path("rows.jsonl")), 0)


def verdict_on(vendor: str, cases: int, share: float, trials: Callable[[int], tuple[int, int]]) -> tuple[Panel, int]:
    """The verdict on a vendor, and how many cases the baseline calls in."""
    random = np.random.default_rng(cases)
    calling = [number < share * cases for number in range(cases)]
    sides: list[Trials] = []
    for number, usual in enumerate(calling):
        ours, theirs = trials(number)
        decisions = [usual != (random.random() < 0.03) for _ in range(ours + theirs)]
        own = [answer(number, ("get_weather", f"town {number}") if one else None) for one in decisions[:ours]]
        sides.append((own, [answer(number, VENDORS[vendor](number, one)) for one in decisions[ours:]]))
    return judge(sides, PanelOptions(permutations=99)), sum(calling)


@settings(max_examples=25)
@given(
    st.sampled_from(list(VENDORS)),
    st.integers(30, CASES),
    st.floats(0.3, 1.0),
    st.lists(st.sampled_from(list(product((1, 2, 3), repeat=2))), min_size=1, max_size=7),
)
def test_no_other_vendor_is_equivalent_whatever_the_numbers(
    vendor: str, cases: int, share: float, trials: list[tuple[int, int]]
) -> None:
    panel, _ = verdict_on(vendor, cases, share, lambda number: trials[number % len(trials)])
    assert panel.finding != "equivalent"


def sides_of(pool: dict[int, list[Measures]], ours: int, theirs: int, seed: int) -> list[Trials]:
    random = np.random.default_rng(seed)
    drawn = [[own[place] for place in random.permutation(len(own))] for own in pool.values()]
    return [(own[:ours], own[ours : ours + theirs]) for own in drawn]


@cache
def pool(flips: float, cases: int = 120) -> dict[int, list[Measures]]:
    """Twelve answers of one model to each case, of which one in ten has another value.

    Args:
        flips: the chance that two of them decide differently.
    """

    def change(row: Row, random: np.random.Generator) -> None:
        for call in message_of(row).get("tool_calls") or []:
            if random.random() < 0.1:
                call["function"]["arguments"] = json.dumps({"city": "Town", "days": int(random.integers(3))})

    return measured_rows(rows(cases, 12, int(100 * flips), flips=flips, change=change))


def findings(ours: int, theirs: int, comparisons: int) -> Counter[str]:
    found = Counter[str]()
    for seed in range(comparisons):
        sides = sides_of(pool((0.0, 0.05, 0.1, 0.2, 0.5)[seed % 5], 90), ours, theirs, seed)
        found[judge(sides, PanelOptions(permutations=199, seed=seed)).finding] += 1
    return found


@pytest.mark.slow(20)
def test_the_same_model_is_hardly_ever_different() -> None:
    found = findings(1, 1, COMPARISONS)
    assert found["different"] <= 0.05 * COMPARISONS
    assert not found["equivalent"]


def test_the_same_model_is_not_decided_and_the_reason_says_what_differs() -> None:
    sides = sides_of(pool(0.1), 1, 1, 1)
    panel = judge(sides)
    assert (panel.finding, panel.verdict) == ("inconclusive", "not decided by one trial")
    differing = sum(one.decision != other.decision for (one,), (other,) in sides)
    assert f"decisions differ in {differing} of 120 cases ({100 * differing / 120:.0f} % [" in panel.reason
    assert panel.reason.endswith("how much the baseline differs from itself is not known: run it twice to decide")
    twice = judge(sides_of(pool(0.1), 2, 1, 1))
    assert twice.verdict == "not decided by one trial"
    assert twice.reason.endswith("one trial of a side does not show its own spread in too many cases: --trials 3")


def decided(baseline: str, vendor: str) -> list[Trials]:
    """One trial of each side that calls ("1") or not ("0")."""
    pairs = enumerate(zip(baseline, vendor, strict=True))
    called = (("get_weather", "Oslo") if decision == "1" else None for _, pair in pairs for decision in pair)
    measures = [answer(0, call) for call in called]
    return [([ours], [theirs]) for ours, theirs in zip(measures[::2], measures[1::2], strict=True)]


@for_each(("inverted", "finding"), [(75, "different"), (69, "different"), (45, "inconclusive"), (38, "inconclusive")])
def test_decisions_that_differ_in_more_cases_than_chance_allows(inverted: int, finding: str) -> None:
    baseline = "10" * 75
    vendor = "01" * inverted + "10" * (75 - inverted)
    panel = judge(decided(baseline, vendor), PanelOptions(permutations=99))
    gate = panel.at("decision")
    assert panel.finding == finding
    assert gate
    if finding == "different":
        said = f"decisions differ in {2 * inverted} of 150 cases, more than chance alone could explain (p = "
        assert said in panel.reason
        assert said in gate.reason
        assert gate.distance
        assert gate.distance.value == pytest.approx(2 * 2 * inverted / 150 - 1)
        assert gate.excess
        assert gate.excess.value == 0
    else:
        assert f"decisions differ in {2 * inverted} of 150 cases (" in panel.reason
        assert f"; p = {gate.p:.2g} for decisions, " in panel.reason
