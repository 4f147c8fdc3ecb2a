"""Damage adds up over gates, and so does the bill; both lead the verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.played_vendors import Change, Row, Sides, judged, measured, message_of, rows

from trialbed_verify.panel import GateResult, Panel

pytestmark = pytest.mark.slow(15)

CASES = 400


def prompts_of(row: Row) -> int:
    return 60 + 37 * row["data_index"] % 900


def counted(prompt: float = 1.0, offset: int = 0, completion: float = 1.0) -> Change:
    """Prompts of many lengths, and counts that are a multiple of what they are."""

    def change(row: Row, random: np.random.Generator) -> None:
        message = message_of(row)
        said = len(message["content"] or json.dumps(message.get("tool_calls"))) // 4
        usage = {
            "prompt_tokens": round(prompt * prompts_of(row)) + offset,
            "completion_tokens": round(completion * said),
        }
        row["response"]["usage"] = {**usage, "total_tokens": sum(usage.values())}

    return change


def small_damages(row: Row, random: np.random.Generator) -> None:
    """A little at each gate: 1.2 % of the tools, of the values, of the finish reasons, of the texts, of the answers."""
    what = int(random.integers(0, 1000)) // 12
    message = message_of(row)
    calls = message.get("tool_calls") or []
    for call in calls:
        if what in (0, 1):
            call["function"]["name"] = "another_tool"
        if what in (2, 3):
            call["function"]["arguments"] = call["function"]["arguments"].replace("town", "city of")
    if calls and what in (4, 5):
        message["tool_calls"] = calls * 2
    if not calls and what in (0, 1):
        message["content"] += "<|im_end|>"
    if not calls and what in (2, 3):
        message["content"] = message["content"][:-9]
    if not calls and what in (4, 5):
        row["response"]["choices"][0]["finish_reason"] = "length"
    counted()(row, random)


def played(seed: int, change: Change, cases: int = CASES, flips: float = 0.02) -> Sides:
    return measured(rows(cases, 4, seed, flips=flips, change=change))


def at(panel: Panel, gate: str) -> GateResult:
    found = panel.at(gate)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def official() -> Sides:
    return played(1, counted())


@pytest.fixture(scope="module")
def damaged(official: Sides) -> Panel:
    """The panel of a vendor with small damages."""
    return judged(official, played(2, small_damages))


@pytest.fixture(scope="module")
def faithful(official: Sides) -> Panel:
    """The panel of a vendor that answers as the baseline does."""
    return judged(official, played(2, counted()))


def test_small_damages_at_many_gates_add_up(damaged: Panel) -> None:
    assert damaged.finding == "different"
    assert damaged.different == ["breaking"]
    assert damaged.reason.startswith("of 1,000 of its answers ")
    assert "would break a caller, beyond the baseline's own spread" in damaged.reason
    excess = at(damaged, "breaking").excess
    assert excess is not None
    assert excess.low <= 0.07 <= excess.high


def test_a_faithful_vendor_breaks_next_to_nothing_and_costs_the_same(faithful: Panel) -> None:
    assert faithful.finding == "equivalent", faithful.reason
    assert "of 1,000 of its answers at most " in faithful.reason
    assert "and it uses the same tokens within " in faithful.reason


def test_a_constant_more_prompt_tokens_is_a_template_and_is_said(official: Sides) -> None:
    found = judged(official, played(2, counted(offset=3)))
    assert found.finding == "equivalent", found.reason
    assert at(found, "prompt-tokens").finding == "equivalent"
    (remark,) = found.remarks
    assert "the vendor counts 3 more prompt tokens than the baseline in 100 % of the requests" in remark


@pytest.mark.parametrize("factor", [1.01, 0.97])
def test_a_multiple_of_the_prompt_tokens_is_different(official: Sides, factor: float) -> None:
    found = judged(official, played(2, counted(prompt=factor)))
    assert "prompt-tokens" in found.different
    assert any(f"{factor:.3f} times the baseline's prompt tokens" in remark for remark in found.remarks)


def test_three_percent_more_on_the_bill_are_different_and_said(official: Sides) -> None:
    found = judged(official, played(2, counted(prompt=1.03, completion=1.03)))
    assert "bill" in found.different
    bill = found.reason.split("and it uses 3.")[1]
    assert "% [" in bill
    assert "] more tokens (one completion token counted as four" in bill


def stopping(share: float) -> Change:
    """One case of ten asks to stop at a word, and this share of the answers does not."""

    def change(row: Row, random: np.random.Generator) -> None:
        if row["data_index"] % 10 == 0:
            row["request"]["stop"] = ["halt"]
            row["response"]["choices"][0]["message"] = {"role": "assistant", "content": "As I said before, no."}
            row["response"]["choices"][0]["finish_reason"] = "stop"
            if random.random() < share:
                message_of(row)["content"] = "As I said before, halt and no."
                row["findings"] = [{"gate": "constraints", "kind": "stop_sequence_in_text", "message": "it is there"}]
        counted()(row, random)

    return change


def test_a_parameter_of_few_requests_is_judged_over_these() -> None:
    baseline = played(1, stopping(0.0))
    found = judged(baseline, played(2, stopping(0.5)))
    assert "constraints:stop" in found.different
    gate = at(found, "constraints:stop")
    assert gate.excess is not None
    assert gate.excess.n == CASES // 10
    assert gate.excess.value == pytest.approx(0.5, abs=0.15)
    assert found.at("constraints:n") is None
