"""The files that ``bench init`` writes run as they are, and notice a broken agent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.bench import bench_in, own_environment
from support.distributions import uv
from support.frameworks import FrameworkEnvironment
from support.trust import one_certificate
from support.warm import run_warm

pytestmark = pytest.mark.slow(40)


def outcome(
    folder: Path, *options: str, python: Path = Path(sys.executable), **variables: str
) -> subprocess.CompletedProcess[str]:
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TRIALBED_STATE_DIR": str(folder / "state"), **variables}
    arguments = ("-q", "-p", "no:cacheprovider", "-p", "trialbed_testing.plugin", *options)
    if python == Path(sys.executable):
        return run_warm("pytest", arguments, cwd=folder, env=own_environment(**own), timeout=600)
    return subprocess.run(
        [str(python), "-m", "pytest", *arguments],
        cwd=folder,
        env=own_environment(**own),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("framework", ["openai", "anthropic", "langgraph"])
def test_a_starting_point_runs_as_it_is(tmp_path: Path, framework: str) -> None:
    bench = bench_in(tmp_path, own_environment(TRIALBED_STATE_DIR=str(tmp_path / "state")))
    written = bench("init", framework, "mine")
    folder = tmp_path / "mine"
    assert "say in requirements.txt where Trialbed comes from" in written.out
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [line[:2] for line in lines[-3:]] == ["# ", "# ", "tr"]
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "agent.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert commands == ["pip install -r requirements.txt", "bench tasks check desk.py", "pytest"]
    if framework == "openai":  # all have the same tasks
        checked = bench("tasks", "check", "mine/desk.py")
        assert checked.out == "mine/desk.py: 3 tasks, no findings\n"
    # Whatever the project in which it lies says to pytest.
    (tmp_path / "tox.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    done = outcome(folder)
    assert done.returncode == 0, done.stdout
    assert f"{9 if framework == 'openai' else 8} passed" in done.stdout
    refused = bench("init", framework, "mine", code=2)
    assert f"mine{os.sep}agent.py already exists" in refused.err


@pytest.mark.parametrize("framework", ["crewai", "autogen", "openai-agents", "agno"])
def test_a_starting_point_runs_with_each_framework(
    tmp_path: Path, framework: str, framework_environment: Callable[[str], FrameworkEnvironment]
) -> None:
    environment = framework_environment(framework)
    bench_in(tmp_path, own_environment())("init", framework, "mine")
    # The environment is shared, so pytest lies beside it, at the releases that it has already.
    (tmp_path / "versions.txt").write_text(environment.versions)
    options = ("--constraint", str(tmp_path / "versions.txt"), "--target", str(tmp_path / "tools"))
    uv("pip", "install", "--quiet", "--python", str(environment.python), *options, "pytest>=8.3,<10")
    # One is read for each of many clients, none of which uses TLS.
    trusted = one_certificate(tmp_path / "certificate.pem")
    own = {"PYTHONPATH": str(tmp_path / "tools"), "SSL_CERT_FILE": str(trusted)}
    done = outcome(tmp_path / "mine", python=environment.python, **own)
    assert done.returncode == 0, done.stdout
    assert "8 passed" in done.stdout
