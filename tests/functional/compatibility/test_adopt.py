"""``bench adopt masbench``: a checkout's agents run as they are, beside what it publishes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.bench import Bench


@pytest.mark.slow
def test_agents_run_unaltered_and_what_they_claim_stands_beside_what_came(
    bench: Bench, checkout: Path, tmp_path: Path
) -> None:
    done = bench("adopt", "masbench", checkout, "--test-set", "G1_tiny", COLUMNS="200")
    lines = [line.split() for line in done.out.splitlines() if line.startswith(("steady ", "boasting "))]
    rows = {line[0]: line[1:] for line in lines}
    # published: solved and api_call_score; seen: the same, invented calls, and failed trials
    assert rows["steady"] == ["1.00", "0.00", "1.00", "1.00", "0", "0", "of", "2"]
    assert rows["boasting"][2:] == ["0.00", "0.00", "2", "0", "of", "2"]
    text = " ".join(done.out.split())
    assert "absent was not run: the checkout has no agent.py for it" in text
    assert "steady: published in steady_agent_G1_tiny_k20_q2.json, over 2 tasks, 0 of which failed" in text
    assert "G1_tiny" in done.err
    assert "1 cached response, 0 known before" in done.err
    document = json.loads((tmp_path / "results" / "tools" / "steady_G1_tiny.json").read_text())
    seen = [call for result in document["results"] for call in result["wire"]["observed"]]
    assert len(seen) == 2


def test_an_agent_whose_framework_is_not_installed_says_how_it_is_run(
    bench: Bench, checkout: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "agents" / "agno"
    other.mkdir(parents=True)
    for name in ("__init__.py", "agent.py"):
        (other / name).touch()
    done = bench("adopt", "masbench", tmp_path / "other", code=2)
    assert "agno is not installed here; in the checkout of Trialbed, make an environment" in done.err
    # From a clone, as neither distribution is on an index.
    assert "uv pip install --python agno -e . -e 'compatibility/masbench[agno]'" in done.err
    assert "--python agno=agno/bin/python" in done.err
    assert (
        "--agent nobody: the checkout has absent, boasting, steady"
        in bench("adopt", "masbench", checkout, "--agent", "nobody", code=2).err
    )
    assert "name a checkout of MASBench" in bench("adopt", "masbench", tmp_path / "other" / "agents", code=2).err


@pytest.mark.slow
def test_the_real_checkout_runs(bench: Bench, tmp_path: Path) -> None:
    git = Path(os.environ.get("TRIALBED_TEST_MASBENCH", ""))
    if not (git / "HEAD").is_file():
        pytest.skip("TRIALBED_TEST_MASBENCH does not name the git directory of MASBench's repository")
    folder = "single_agent/tool_use"
    files = [f"{folder}/{name}" for name in ("agents", "utils", "tool_selection", "tool_response_cache")]
    files += [f"{folder}/StableToolBench/solvable_queries/test_instruction/G1_instruction.json", "results/tools"]
    archive = subprocess.run(["git", f"--git-dir={git}", "archive", "HEAD", *files], capture_output=True, check=True)
    (tmp_path / "checkout").mkdir()
    subprocess.run(["tar", "x", "-C", str(tmp_path / "checkout")], input=archive.stdout, check=True)
    done = bench("adopt", "masbench", tmp_path / "checkout", "--agent", "langgraph", "--agent", "agno", "--json")
    (document,) = json.loads(done.out)
    assert document["metadata"]["agent_name"] == "langgraph"
    assert document["summary"]["average_sopr_score"] == document["summary"]["average_api_call_score"] == 1.0
