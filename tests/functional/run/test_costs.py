"""The costs of a run, and its budget."""

from __future__ import annotations

import re

from support.bench import Bench

RUN = ("run", "--limit", 6, "-f", "reference", "-j", 1, "--json")


def test_a_run_ends_at_its_budget_and_goes_on_with_a_larger_one(bench: Bench) -> None:
    ended = bench(*RUN, "--price", "10,20", "--budget", "0.12USD", code=3)
    summary = ended.document["summary"]
    assert 0 < summary["answered_count"] < 6
    assert summary["errors"].keys() == {"budget"}
    assert "the same command with a larger --budget goes on" in ended.err
    most = max(entry["scores"]["cost"] for entry in summary_results(ended.document))
    assert 0.12 <= summary["totals"]["cost"] < 0.12 + most

    whole = bench(*RUN, "--price", "10,20", "--budget", "5USD").document["summary"]
    assert whole["answered_count"] == 6
    assert whole["totals"]["cost"] > summary["totals"]["cost"]
    assert whole["totals"]["cost_per_solved"] == whole["totals"]["cost"] / 6


def test_each_model_has_its_own_price_and_another_is_no_continuation(bench: Bench) -> None:
    several = (*RUN, "--model", "scripted:gold", "--model", "scripted:partial", "--price", "1,2", "--price")
    ended = bench(*several, "scripted:partial=3,4", "--budget", "5ktokens", code=3)
    assert re.search(r"\(scripted:gold [\d,]+ tokens, scripted:partial [\d,]+ tokens\); the same command", ended.err)
    rates = [document["metadata"]["prices"]["rates"][0] for document in ended.documents]
    assert [(rate["input"], rate["output"]) for rate in rates] == [(1, 2), (3, 4)]
    shown = bench("show", "latest", "--full").out
    assert "Prices of scripted:gold: --price, 1 in, 2 out" in shown
    assert "Prices of scripted:partial: --price, 3 in, 4 out" in shown
    assert "began with other prices of scripted:partial," in bench(*several, "scripted:partial=3,5", code=2).err


def summary_results(document: dict[str, list[dict[str, dict[str, float]]]]) -> list[dict[str, dict[str, float]]]:
    return [entry for entry in document["results"] if "cost" in entry["scores"]]
