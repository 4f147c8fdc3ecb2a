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
TESTED = ("decision", "tools", "arguments")
USUAL = {"prompt_tokens": 60, "completion_tokens": 18, "total_tokens": 78}
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


@for_each("vendor", VENDORS)
@settings(max_examples=3)
@given(st.integers(60, CASES), st.floats(0.3, 1.0))
def test_one_trial_per_side_shows_another_vendor(vendor: str, cases: int, share: float) -> None:
    panel, calling = verdict_on(vendor, cases, share, lambda _: (1, 1))
    if calling < 60 and vendor != "inverted":
        assert panel.finding != "equivalent"
        return
    assert panel.finding == panel.verdict == "different"
    assert any(one.finding == "not judged" for one in panel.gates)


def test_of_traits_that_tell_as_much_the_vendors_is_named() -> None:
    panel, calling = verdict_on("another city", 100, 1.0, lambda _: (1, 1))
    gate = panel.at("arguments")
    assert gate
    assert ": 0 cases have one of the values at the baseline only, " in gate.reason
    assert gate.differing
    assert gate.differing[0] > 0.9 * calling


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


@pytest.mark.slow(60)
@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (2, 1), (3, 3)])
def test_the_same_model_is_hardly_ever_different(ours: int, theirs: int) -> None:
    found = findings(ours, theirs, COMPARISONS)
    assert found["different"] <= 0.05 * COMPARISONS
    assert min(ours, theirs) > 1 or not found["equivalent"]


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


@for_each(("vendor", "differing"), [("0" * 12, 6), ("1" * 3 + "0" * 9, 5), ("10" * 6, 0)])
def test_few_cases_with_one_trial_are_not_decided_and_no_number_is_named(vendor: str, differing: int) -> None:
    panel = judge(decided("10" * 6, vendor), PanelOptions(permutations=99))
    assert (panel.finding, panel.verdict, panel.needed) == ("inconclusive", "not decided by one trial", None)
    first, second, *_ = panel.reasons(lambda gate: gate.name)
    assert first == "12 cases are too few for a verdict"
    assert second.startswith(f"decisions differ in {differing} of 12 cases (")
    assert panel.reason.endswith("is not known: run it twice with more cases to decide")
    assert "would do" not in panel.reason


def billed(number: int, **usage: int) -> Measures:
    row = {"outcome": "stop", "response": {"choices": [{"message": {"content": "It is."}}], "usage": usage}}
    return measure(row, FileRows(Path(f"{number}.jsonl")), 0)


@for_each(
    ("usage", "words"),
    [
        ({"completion_tokens": 18}, "it uses the same tokens within "),
        ({"completion_tokens": 18, "total_tokens": 378}, "it uses 909.1 % [904.6, 909.1] more tokens (one completion"),
        ({"completion_tokens": 0, "total_tokens": 78}, "it uses the same tokens within "),
    ],
)
def test_thoughts_that_only_the_total_has_are_billed(usage: dict[str, int], words: str) -> None:
    sides = [([billed(number, **USUAL)], [billed(number, prompt_tokens=60, **usage)]) for number in range(60)]
    panel = judge(sides, PanelOptions(permutations=99))
    assert words in panel.reason
    assert ("bill" in panel.different) == ("more" in words)


@for_each(
    ("output", "words"),
    [
        (60 / 18, "; at your prices an answer is 50 % cheaper"),
        (300 / 18, "; at your prices an answer is 50 % dearer"),
        (180.1 / 18, "; at your prices an answer costs the same"),
        (None, ""),
    ],
)
def test_prices_are_said_behind_the_tokens(output: float | None, words: str) -> None:
    sides = [([billed(number, **USUAL)], [billed(number, **USUAL)]) for number in range(60)]
    prices = ({"input": 1.0, "output": 10.0}, {} if output is None else {"input": 1.0, "output": output})
    panel = judge(sides, PanelOptions(prices=prices))
    assert panel.reason.startswith("it uses the same tokens within ")
    assert (words in panel.reason) == ("at your prices" in panel.reason or not words)


@for_each("seed", range(8))
def test_the_sides_are_treated_alike(seed: int) -> None:
    def by(number: int, side: int) -> Measures:
        random = np.random.default_rng((seed, number, side))
        tool = "get_news" if random.random() < 0.1 * side else "get_weather"
        city = "Atlantis" if random.random() < 0.1 * side else f"town {number}"
        return answer(number, (tool, city) if random.random() < 0.8 - 0.15 * side else None)

    sides = [([by(number, 0)], [by(number, 1)]) for number in range(200)]
    options = PanelOptions(permutations=99)
    one, other = judge(sides, options), judge([(theirs, ours) for ours, theirs in sides], options)
    for gate in TESTED:
        results = [panel.at(gate) for panel in (one, other)]
        assert len({result and result.finding for result in results}) == 1
        assert len({result and result.p for result in results}) == 1


def test_a_few_cases_with_a_second_trial_do_not_decide() -> None:
    sides = sides_of(pool(0.0), 1, 1, 1)
    sides[:40] = sides_of(pool(0.0), 2, 2, 1)[:40]
    panel = judge(sides)
    assert panel.verdict == "not decided by one trial"
