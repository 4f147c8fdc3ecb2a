"""What a framework says of itself does not save it: the wire decides what a trial is worth."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench

pytestmark = pytest.mark.slow

AGENTS = Path(__file__).parent / "dishonest" / "dishonest_agents.py"
FRAMEWORKS = ("Cheat", "Polite", "Restless", "Excused")


@pytest.fixture
def found(bench: Bench, bench_environment: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """The results of each framework on three queries, as the table has it and as documents."""
    folder = tmp_path / "site"
    metadata = folder / "dishonest_agents-1.0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(AGENTS, folder)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dishonest-agents\nVersion: 1.0\n")
    entries = "".join(f"{name.lower()} = dishonest_agents:{name}\n" for name in FRAMEWORKS)
    (metadata / "entry_points.txt").write_text(f"[trialbed.frameworks]\n{entries}")
    bench_environment["PYTHONPATH"] = str(folder)
    chosen = [argument for name in FRAMEWORKS for argument in ("-f", name.lower())]
    done = bench("run", *chosen, "--limit", 3, "--json")
    return {"err": " ".join(done.err.split())} | {
        document["metadata"]["agent_name"]: document for document in done.documents
    }


def test_the_wire_decides(found: dict[str, Any]) -> None:
    kinds = {name: found[name]["summary"]["errors"] for name in ("cheat", "polite", "restless", "excused")}
    assert kinds == {"cheat": {"agent": 3}, "polite": {}, "restless": {"limit": 3}, "excused": {"agent": 3}}
    for name in kinds:
        summary = found[name]["summary"]
        assert summary["average_sopr_score"] == 0.0, name
        assert summary["average_api_f1"] == 0.0, name
        assert summary["not_measured_count"] == 0, name
    assert "the agent answered without a request to the model" in found["err"]

    polite = found["polite"]
    assert polite["summary"]["claims"]["unasked"] == sum(len(entry["called_apis"]) for entry in polite["results"]) > 0
    assert polite["summary"]["claims"]["turns"] == {"claimed": 21, "observed": 3, "trials": 3, "differ": 3}
    assert polite["summary"]["claims"]["tokens"]["differ"] == 3
    assert polite["results"][0]["wire"]["unasked"] == [list(pair) for pair in polite["results"][0]["called_apis"]]

    refused = found["restless"]["summary"]["refused_requests"]
    assert refused == {"requests": 9, "trials": 3, "limits": {"max_steps": 9}}
    assert found["restless"]["results"][0]["error"]["message"].startswith("stopped by the limit: 3 requests past")
