"""``bench fidelity`` on agents that are not faithful."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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
        folder = tmp_path_factory.mktemp("run")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
        flags = [flag for framework in frameworks for flag in ("-f", framework)]
        done = subprocess.run(
            [sys.executable, "-m", "trialbed", "fidelity", *flags, *map(str, options), *["--json"] * json],
            cwd=folder,
            env={**kept, "PYTHONPATH": str(unfaithful_site), "NO_COLOR": "1", "COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return Measured(done)

    return run
