"""``bench fidelity`` on agents that are not faithful."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import Finished, bench_in, own_environment

UNFAITHFUL = Path(__file__).parent / "unfaithful"

ENTRY_POINTS = """
[trialbed.frameworks]
adds-a-line = unfaithful_agents:AddsALine
dawdles = unfaithful_agents:Dawdles
dawdles-too = unfaithful_agents:Dawdles
broken-import = unfaithful_import:Agent
"""

Fidelity = Callable[..., Finished]
"""Runs ``bench fidelity`` with these arguments in an empty folder; ``code`` is the expected exit code."""


@pytest.fixture(scope="session")
def unfaithful_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the agents as an installed distribution."""
    folder = tmp_path_factory.mktemp("site")
    for module in UNFAITHFUL.glob("*.py"):
        shutil.copy(module, folder)
    metadata = folder / "unfaithful-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: unfaithful\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture(scope="session")
def fidelity(unfaithful_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Fidelity:
    """Run ``bench fidelity`` where the agents are installed."""

    def run(*arguments: object, code: int = 0) -> Finished:
        environment = own_environment(PYTHONPATH=str(unfaithful_site), COLUMNS="120")
        bench = bench_in(tmp_path_factory.mktemp("run"), environment, timeout=600)
        return bench("fidelity", *arguments, code=code)

    return run
