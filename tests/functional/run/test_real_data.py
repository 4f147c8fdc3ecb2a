"""StableToolBench's real queries through the real frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import Bench

pytestmark = pytest.mark.slow(60)

COUNTS = {"G1_instruction": 163, "G1_category": 153, "G1_tool": 158}
MARKS = {"G1_category": pytest.mark.matrix, "G1_tool": pytest.mark.matrix}


@pytest.mark.parametrize("test_set", [pytest.param(name, marks=MARKS.get(name, ())) for name in COUNTS])
def test_gold_is_gold_on_every_real_query(
    test_set: str, bench: Bench, stabletoolbench_dir: Path, every_framework: list[str]
) -> None:
    bench("data", "import", stabletoolbench_dir)
    done = bench("run", *every_framework, "-d", f"stabletoolbench:{test_set}", "-j", 4, "--json")
    assert len(done.documents) == len(every_framework[1:12:2])
    for document in done.documents:
        agent = document["metadata"]["agent_name"]
        assert document["summary"]["error_count"] == 0, (agent, document["summary"]["errors"])
        assert len(document["results"]) == COUNTS[test_set], agent
        for result in document["results"]:
            where = f"{agent}, query {result['query_id']}"
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
