"""Ways to be scored for answers that are known: each is worthless, and named in the row of its framework."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.bench import Bench

pytestmark = pytest.mark.slow

AGENTS = Path(__file__).parent / "dishonest" / "cheating_agents.py"

CHEATS: dict[str, set[str]] = {
    "StrongModel": {"other_model"},
    "TwoModels": {"other_model"},
    "FallbackModel": {"other_model"},
    "ZippedModel": {"other_model"},
    "RefusedLast": {"other_model"},
    "OwnTool": {"forced_choice", "added_tool", "unasked_call", "unsourced_answer"},
    "Forced": {"forced_choice", "forced_call", "unsourced_answer"},
    "Narrowed": {"forced_choice", "forced_call", "unsourced_answer"},
    "Unasked": {"unasked_call", "unsourced_answer"},
    "Dictated": {"unasked_call", "unsourced_answer"},
    "Facts": {"unsourced_answer"},
    "OwnWords": {"unasked_call", "unsourced_answer"},
    "Late": {"outside_clock"},
    "Claims": {"invented_claim"},
}
"""Cheat -> the findings by which its row names it."""


def test_every_cheat_is_worthless_and_named(bench: Bench, bench_environment: dict[str, str], tmp_path: Path) -> None:
    metadata = tmp_path / "site" / "cheating_agents-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(AGENTS, metadata.parent)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cheating-agents\nVersion: 1.0\n")
    entries = "".join(f"{name.lower()} = cheating_agents:{name}\n" for name in CHEATS)
    (metadata / "entry_points.txt").write_text(f"[trialbed.frameworks]\n{entries}")
    bench_environment["PYTHONPATH"] = str(metadata.parent)
    chosen = [part for name in CHEATS for part in ("-f", name.lower())]
    done = bench("run", *chosen, "-f", "reference", "--model", "scripted:none", "--limit", 1, "--json")

    found = {document["metadata"]["agent_name"]: document["summary"] for document in done.documents}
    named = {name: set(found[name.lower()]["integrity"]["findings"]) for name in CHEATS}
    assert named == CHEATS
    assert found["reference"]["integrity"] == {"trials": 1, "void": None, "findings": {}}
    for name, summary in found.items():
        # The model answers without a call: nobody solves anything, and nothing is left out for a refusal.
        assert (summary["average_sopr_score"], summary["average_api_f1"]) == (0, 0), name
        assert summary["not_measured_count"] == 0, name
    assert found["claims"]["average_claimed_vs_observed"] == 0
    assert found["late"]["average_wall_time"] > 0.5
    assert found["reference"]["average_wall_time"] < found["late"]["average_wall_time"]
    text = " ".join(done.err.split())
    assert "this trial's model is 'gpt-4o', and the request asks for 'strong'" in text
