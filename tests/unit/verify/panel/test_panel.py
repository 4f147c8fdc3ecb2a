"""The panel tells vendors apart that answer otherwise, and leaves faithful ones in peace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.played_vendors import Change, Row, Sides, judged, measured, message_of, rows

from trialbed_verify.panel import measure
from trialbed_verify.rows import FileRows

pytestmark = pytest.mark.slow(15)

CASES = 400
"""Enough to call a faithful vendor equivalent."""

FEW = 120
"""Enough to call an impostor different."""


def played(seed: int, trials: int = 4, cases: int = CASES, **options: Any) -> Sides:
    return measured(rows(cases, trials, seed, **options))


@pytest.fixture(scope="module")
def official() -> Sides:
    return played(1, flips=0.02)


@pytest.fixture(scope="module")
def brief() -> Sides:
    return played(1, 3, FEW, flips=0.02)


def calls(row: Row) -> list[Row]:
    return message_of(row).get("tool_calls") or []


def text(change: Callable[[str], str]) -> Change:
    def changed(row: Row, random: np.random.Generator) -> None:
        if message_of(row)["content"]:
            message_of(row)["content"] = change(message_of(row)["content"])

    return changed


def wrong_tool(share: float) -> Change:
    def changed(row: Row, random: np.random.Generator) -> None:
        for call in calls(row):
            if random.random() < share:
                call["function"]["name"] = "another_tool"

    return changed


def swapped(row: Row, random: np.random.Generator) -> None:
    for call in calls(row):
        given = json.loads(call["function"]["arguments"])
        call["function"]["arguments"] = json.dumps({"city": given["days"], "days": given["city"]})


def reordered(row: Row, random: np.random.Generator) -> None:
    calls(row).reverse()


def thrice(row: Row, random: np.random.Generator) -> None:
    if calls(row):
        message_of(row)["tool_calls"] = calls(row) * 3


def finished(row: Row, random: np.random.Generator) -> None:
    if not calls(row):
        row["response"]["choices"][0]["finish_reason"] = "length"


def invalid(row: Row, random: np.random.Generator) -> None:
    if calls(row):
        row["tool_calls_valid"] = False


def error_body(row: Row, random: np.random.Generator) -> None:
    if not calls(row):
        row |= {"status": "failed", "outcome": "protocol_error", "problem": {"kind": "error_event"}}


def other_model(row: Row, random: np.random.Generator) -> None:
    row["response"]["model"] = "a-small-model"
    row["findings"] = [{"gate": "model", "kind": "other_model", "message": "another model"}]


def inflated(row: Row, random: np.random.Generator) -> None:
    row["response"]["usage"] = {"prompt_tokens": 100, "completion_tokens": 900, "total_tokens": 1000}


def few_tokens(row: Row, random: np.random.Generator) -> None:
    row["response"]["usage"] = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


GERMAN = "Das ist nicht so einfach und die Stadt ist mit dem Fluss auf der anderen Seite zu sehen."

IMPOSTORS: dict[str, tuple[Change, str]] = {
    "always the wrong tool": (wrong_tool(1.0), "tools"),
    "swapped arguments": (swapped, "arguments"),
    "each call three times": (thrice, "calls"),
    "calls in another order": (reordered, "calls"),
    "another finish reason": (finished, "finish"),
    "calls that do not fit": (invalid, "schema"),
    "no text": (text(lambda _: ""), "text-form"),
    "another language": (text(lambda _: GERMAN), "text-form"),
    "cut texts": (text(lambda said: said[: len(said) // 2]), "text-length"),
    "broken encoding": (text(lambda said: said.replace("e", "\ufffd")), "text-leaks"),
    "leaked tokens": (text(lambda said: f"{said}<|im_end|>"), "text-leaks"),
    "an error for each text": (error_body, "availability"),
    "another model": (other_model, "model"),
    "inflated counts": (inflated, "tokens"),
    "counts of two": (few_tokens, "tokens"),
}


@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_is_different_at_its_gate(brief: Sides, name: str) -> None:
    change, gate = IMPOSTORS[name]
    found = judged(brief, played(2, 3, FEW, flips=0.02, change=change))
    assert found.finding == "different"
    assert gate in found.different
    assert found.whole is not None


def test_a_faithful_vendor_is_equivalent(official: Sides) -> None:
    found = judged(official, played(2, flips=0.02))
    assert found.finding == "equivalent", found.reason
    assert all(result.finding in ("equivalent", "not applicable") for result in found.gates)


def test_a_vendor_that_always_gives_the_likeliest_decision_is_different() -> None:
    """Its F1 is hardly lower than the baseline's with itself."""
    baseline = played(1, cases=200, flips=0.2)
    found = judged(baseline, played(2, cases=200, flips=0.0))
    assert found.finding == "different"
    assert "decision" in found.different


def test_few_cases_are_refused_with_a_number_that_would_do() -> None:
    found = judged(played(1, cases=20), played(2, cases=20, change=wrong_tool(1.0)))
    assert found.finding == "inconclusive"
    assert "20 cases are too few" in found.reason
    assert found.needed is not None
    assert found.needed > 100


def test_a_subject_of_few_cases_is_never_called_equivalent() -> None:
    """Nearly all requests are answered with texts; the few calls go to the wrong tool, or to the right one."""

    def rare(sides: Sides) -> Sides:
        texts = [case for case, own in sides.items() if not any(trial.tools for trial in own)]
        called = [case for case, own in sides.items() if all(trial.tools for trial in own)]
        return {case: sides[case] for case in (*texts, *called[:2])}

    baseline, right = (rare(played(seed, 3, 600, flips=0.0)) for seed in (1, 2))
    wrong = rare(played(2, 3, 600, flips=0.0, change=wrong_tool(1.0)))
    found = judged(baseline, wrong)
    assert found.finding == "inconclusive"
    assert {one.gate.name: one.finding for one in found.gates}["tools"] == "inconclusive"
    assert "tools (2 cases)" in found.reason
    assert " cases with as many trials would do" in found.reason
    faithful = judged(baseline, right)
    assert {one.gate.name: one.finding for one in faithful.gates}["tools"] == "too few cases"
    assert faithful.finding != "different"


def test_one_trial_of_the_vendor_does_not_show_that_it_is_equivalent(official: Sides) -> None:
    found = judged(official, played(2, trials=1, flips=0.02))
    assert found.finding == "inconclusive"
    assert "one trial of a side does not show its own spread" in found.reason
    wrong = judged(official, played(2, trials=1, flips=0.02, change=wrong_tool(1.0)))
    assert wrong.finding == "different"


def copied(sides: Sides, trials: int) -> Sides:
    return {case: [own[0]] * trials for case, own in sides.items()}


def test_a_copied_baseline_condemns_no_faithful_vendor() -> None:
    """Five copies of one trial: the baseline seems to have no spread at all."""
    baseline = copied(played(1, trials=1, cases=200, flips=0.2), 5)
    found = judged(baseline, played(2, cases=200, flips=0.2))
    assert found.finding == "inconclusive"
    assert "800 of the baseline's 1,000 trials are copies" in found.remarks[0]
    assert "how much the baseline differs from itself is not known" in found.reason
    assert judged(baseline, played(2, cases=200, flips=0.2, change=wrong_tool(1.0))).finding == "different"


def probabilities(shift: float) -> Change:
    def changed(row: Row, random: np.random.Generator) -> None:
        yes = 0.7 + shift + 0.001 * float(random.standard_normal())
        top = [{"token": "yes", "logprob": float(np.log(yes))}, {"token": "no", "logprob": float(np.log(1 - yes))}]
        row["response"]["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}

    return changed


def test_the_first_tokens_probabilities_tell_a_quantised_model() -> None:
    baseline = played(1, 3, 300, flips=0.02, change=probabilities(0.0))
    faithful = judged(baseline, played(2, 3, 300, flips=0.02, change=probabilities(0.0)))
    assert "logprobs" in [result.gate.name for result in faithful.gates if result.finding == "equivalent"]
    quantised = judged(baseline, played(2, 3, 300, flips=0.02, change=probabilities(-0.2)))
    assert quantised.different == ["logprobs"]


def written(path: Path, own: Iterator[Row]) -> Sides:
    found: Sides = {}
    offset = 0
    with path.open("w", encoding="utf-8") as file:
        for row in own:
            found.setdefault(row["data_index"], []).append(measure(row, FileRows(path), offset))
            offset += file.write(json.dumps(row) + "\n")
    return found


def test_each_difference_has_an_example_of_both_sides(tmp_path: Path) -> None:
    baseline = written(tmp_path / "official.jsonl", rows(FEW, 3, 1, flips=0.02))
    vendor = written(tmp_path / "acme.jsonl", rows(FEW, 3, 2, flips=0.02, change=wrong_tool(1.0)))
    (result,) = [one for one in judged(baseline, vendor).gates if one.gate.name == "tools"]
    assert result.example is not None
    assert "another_tool" in result.example.vendor
    assert "another_tool" not in result.example.baseline
