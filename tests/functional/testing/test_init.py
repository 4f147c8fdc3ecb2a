"""The files that ``bench init`` writes run as they are, and notice a broken agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.bench import bench_in, own_environment

pytestmark = pytest.mark.slow(25)


def outcome(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "trialbed_testing.plugin", *options],
        cwd=folder,
        env=own_environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TRIALBED_STATE_DIR=str(folder / "state")),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("framework", ["openai", "anthropic", "langgraph"])
def test_a_starting_point_runs_as_it_is(tmp_path: Path, framework: str) -> None:
    bench = bench_in(tmp_path, own_environment(TRIALBED_STATE_DIR=str(tmp_path / "state")))
    bench("init", framework, "mine")
    folder = tmp_path / "mine"
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "agent.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert commands == ["pip install -r requirements.txt", "bench tasks check desk.py", "pytest"]
    if framework == "openai":  # all have the same tasks
        checked = bench("tasks", "check", "mine/desk.py")
        assert checked.out == "mine/desk.py: 3 tasks, no findings\n"
    done = outcome(folder)
    assert done.returncode == 0, done.stdout
    assert "8 passed" in done.stdout
    refused = bench("init", framework, "mine", code=2)
    assert f"mine{os.sep}agent.py is there already" in refused.err


def test_its_tests_notice_an_agent_that_loses_the_results_of_tools(tmp_path: Path) -> None:
    bench_in(tmp_path, own_environment())("init", "openai")
    agent = tmp_path / "agent.py"
    text = agent.read_text(encoding="utf-8")
    assert '"content": result}' in text
    agent.write_text(text.replace('"content": result}', '"content": "done"}'), encoding="utf-8")
    done = outcome(tmp_path, "-k", "price")
    assert done.returncode == 1
    assert "the answer says '12.5': it does not" in done.stdout
