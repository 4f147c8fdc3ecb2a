"""StableToolBench's real queries through the real frameworks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

pytestmark = pytest.mark.slow(40)

COUNTS = {"G1_instruction": 163, "G1_category": 153, "G1_tool": 158}
SAMPLE = 6
"""Queries of a test set that all frameworks are asked where time is short."""


@pytest.mark.matrix
@pytest.mark.parametrize("test_set", COUNTS)
def test_gold_is_gold_on_every_real_query(
    test_set: str, bench: Bench, stabletoolbench_dir: Path, every_framework: list[str]
) -> None:
    bench("data", "import", stabletoolbench_dir)
    documents = run(bench, test_set, *every_framework)
    assert len(documents) == every_framework.count("--framework")
    for document in documents:
        assert_gold(document, COUNTS[test_set])


def test_gold_is_gold_on_real_queries(bench: Bench, stabletoolbench_dir: Path, every_framework: list[str]) -> None:
    """On every query of a test set for the reference, on every 27th one for all frameworks."""
    bench("data", "import", stabletoolbench_dir)
    (reference,) = run(bench, "G1_instruction", "-f", "reference")
    assert_gold(reference, COUNTS["G1_instruction"])
    some = [result["query_id"] for result in reference["results"]][::27][:SAMPLE]
    chosen = [flag for query_id in some for flag in ("--query-id", query_id)]
    # One at a time: each would start several workers of each framework, whose imports take longer than its queries.
    documents = run(bench, "G1_instruction", *every_framework, *chosen, concurrency=1)
    assert len(documents) == every_framework.count("--framework")
    for document in documents:
        assert_gold(document, SAMPLE)


def run(bench: Bench, test_set: str, *arguments: object, concurrency: int = 4) -> list[dict[str, Any]]:
    return bench("run", *arguments, "-d", f"stabletoolbench:{test_set}", "-j", concurrency, "--json").documents


def assert_gold(document: dict[str, Any], count: int) -> None:
    agent = document["metadata"]["agent_name"]
    assert document["summary"]["error_count"] == 0, (agent, document["summary"]["errors"])
    assert len(document["results"]) == count, agent
    for result in document["results"]:
        where = f"{agent}, task {result['query_id']}"
        assert result["scores"]["api_call_score"] == 1.0, where
        assert result["scores"]["has_finish"] is True, where
        assert result["scores"]["claimed_vs_observed"] == 1.0, where
        names = result["selected_tools"]
        assert len(names) == len(set(names)), where


def test_a_file_of_real_queries_runs_as_it_is(bench: Bench, stabletoolbench_dir: Path) -> None:
    file = stabletoolbench_dir / "solvable_queries" / "test_instruction" / "G1_instruction.json"
    document = bench("run", "--dataset", file, "--limit", 3, "--json").document
    assert document["metadata"]["test_set"] == "G1_instruction"
    assert document["summary"]["average_api_call_score"] == 1.0
