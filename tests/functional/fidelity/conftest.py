"""``bench fidelity`` on agents that are not faithful."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment
from support.measured import Fidelity, Measured

UNFAITHFUL = Path(__file__).parent / "unfaithful"


@pytest.fixture(scope="session")
def unfaithful_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the agents as an installed distribution."""
    folder = tmp_path_factory.mktemp("site")
    for module in UNFAITHFUL.glob("*.py"):
        shutil.copy(module, folder)
    classes = re.findall(r"^class (\w+)\(", (UNFAITHFUL / "unfaithful_agents.py").read_text(), re.MULTILINE)
    lines = [f"{_name(one)} = unfaithful_agents:{one}" for one in classes]
    metadata = folder / "unfaithful-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: unfaithful\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(
        "\n".join(["[trialbed.frameworks]", *lines, "broken-import = unfaithful_import:Agent"])
    )
    return folder


def _name(of_class: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", of_class).lower()


@pytest.fixture(scope="session")
def fidelity(unfaithful_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Fidelity:
    """Run ``bench fidelity`` with these frameworks and options in an empty folder."""

    def run(*frameworks: str, options: tuple[object, ...] = (), code: int = 0, json: bool = True) -> Measured:
        flags = [flag for framework in frameworks for flag in ("-f", framework)]
        environment = own_environment(PYTHONPATH=str(unfaithful_site), COLUMNS="120")
        bench = bench_in(tmp_path_factory.mktemp("run"), environment, timeout=600)
        done = bench("fidelity", *flags, *options, *["--json"] * json, code=code)
        return Measured(done.code, done.out, done.err)

    return run
