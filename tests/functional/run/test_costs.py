"""The costs of a run, and its budget."""

from __future__ import annotations

import re
from pathlib import Path

from support.bench import Bench

ORDERS = """
from trialbed import Task, call

def find(order: int) -> dict:
    \"\"\"Find an order.\"\"\"
    return {"price": 12}

tasks = [Task(f"What is the price of order {n}?", tools=[find], calls=[call("find", order=n)]) for n in range(10, 40)]
"""

RUN = ("run", "--limit", 6, "-f", "reference", "-j", 1, "--json")


def test_a_run_ends_at_its_budget_and_goes_on_with_a_larger_one(bench: Bench) -> None:
    ended = bench(*RUN, "--price", "10,20", "--budget", "0.12USD", code=3)
    summary = ended.document["summary"]
    assert 0 < summary["answered_count"] < 6
    assert summary["errors"] == {}
    assert "repeat the command with a larger --budget to continue" in ended.err
    assert "The same command with a larger --budget runs what is missing" in ended.err
    assert 0 < summary["totals"]["cost"] <= 0.12

    whole = bench(*RUN, "--price", "10,20", "--budget", "5USD").document["summary"]
    assert whole["answered_count"] == 6
    assert whole["totals"]["cost"] > summary["totals"]["cost"]
    assert whole["totals"]["cost_per_solved"] == whole["totals"]["cost"] / 6


def test_a_budget_pays_for_as_many_trials_as_it_covers_and_no_part_of_another(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(ORDERS)
    options = ("run", "-d", "orders.py", "-j", 16, "--json")
    (one,) = bench(*options, "-n", 1).document["results"]
    tokens = one["scores"]["total_tokens"]
    ended = bench(*options, "--fresh", "--budget", f"{8.3 * tokens:.0f}tokens", code=3)
    assert f"covers no further trial: {8 * tokens:,.0f} tokens of {8.3 * tokens:,.0f} tokens are used" in ended.err
    assert ended.document["summary"]["answered_count"] == 8
    assert ended.document["summary"]["errors"] == {}
    (again,) = re.findall(r"(\d+) of them kept", bench(*options, "--budget", f"{10.3 * tokens:.0f}tokens", code=3).err)
    assert again == "8"


def test_each_model_has_its_own_price_and_another_is_no_continuation(bench: Bench) -> None:
    several = (*RUN, "--model", "scripted:gold", "--model", "scripted:partial", "--price", "1,2", "--price")
    ended = bench(*several, "scripted:partial=3,4", "--budget", "12ktokens", code=3)
    assert "; repeat the command with a larger --budget to continue" in ended.err
    rates = [document["metadata"]["prices"]["rates"][0] for document in ended.documents]
    assert [(rate["input"], rate["output"]) for rate in rates] == [(1, 2), (3, 4)]
    shown = bench("show", "latest", "--full").out
    assert "Prices of scripted:gold: --price, 1 in, 2 out" in shown
    assert "Prices of scripted:partial: --price, 3 in, 4 out" in shown
    assert "began with other prices for scripted:partial and" in bench(*several, "scripted:partial=3,5", code=2).err
