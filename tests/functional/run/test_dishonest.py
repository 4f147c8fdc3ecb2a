"""What a framework says of itself does not save it: the wire decides what a trial is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench
from support.hostile_agents import install_hostile_agents

pytestmark = pytest.mark.slow

CHEATS = ("no request", "polite claims", "requests without end", "blame on the model")


@pytest.fixture
def found(bench: Bench, bench_environment: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """The document of the cheating framework, its results by cheat, and the table."""
    install_hostile_agents(tmp_path / "site")
    bench_environment["PYTHONPATH"] = str(tmp_path / "site")
    chosen = [argument for name in CHEATS for argument in ("--query-id", name)]
    done = bench("run", "-f", "cheating", "--dataset", "cheats", *chosen, "--json")
    entries = {entry["query_id"]: entry for entry in done.document["results"]}
    return {"err": " ".join(done.err.split()), "summary": done.document["summary"], **entries}


def test_the_wire_decides(found: dict[str, Any]) -> None:
    summary = found["summary"]
    kinds = [found[name].get("error", {}).get("kind") for name in CHEATS]
    assert kinds == ["agent", None, "limit", "agent"]
    assert (summary["average_sopr_score"], summary["average_api_f1"], summary["not_measured_count"]) == (0, 0, 0)
    assert "the agent answered without a request to the model" in found["err"]

    polite = found["polite claims"]
    assert summary["claims"]["unasked"] == len(polite["called_apis"]) > 0
    assert polite["wire"]["unasked"] == [list(pair) for pair in polite["called_apis"]]
    assert summary["claims"]["turns"] == {"claimed": 7, "observed": 1, "trials": 1, "differ": 1}
    assert summary["claims"]["tokens"]["differ"] == 1

    assert summary["refused_requests"] == {"requests": 3, "trials": 1, "limits": {"max_steps": 3}}
    assert found["requests without end"]["error"]["message"].startswith("stopped by the limit: 3 requests past")
