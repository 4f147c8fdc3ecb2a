"""The frameworks' own environments, built once and shared by all tests that need them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment
from support.once import Once

from trialbed.environments import FIRST_PARTY
from trialbed.records import Environment

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("reference", *FIRST_PARTY)
"""The reference, and those whose adapters are published with Trialbed."""
APART = tuple(name for name in FIRST_PARTY if name != "langgraph")
"""Those that are not installed here and get environments of their own."""

WITH_EXTRAS = {"google-adk": f"trialbed-google-adk[litellm] @ {(ROOT / 'adapters' / 'google-adk').as_uri()}"}
"""Adapters with the packages of all their profiles."""


@dataclass(frozen=True)
class FrameworkEnvironment:
    """A framework's own environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def record(self) -> Environment:
        """The environment as an executor uses it."""
        return Environment(python=str(self.python), lock=(self.folder / "lock.txt").read_text(encoding="utf-8"))

    @property
    def versions(self) -> str:
        """The exact releases of what came from an index, as lines of a requirements file."""
        lines = (self.folder / "lock.txt").read_text(encoding="utf-8").splitlines()
        return "\n".join(line.removesuffix(" \\") for line in lines if "==" in line and "@" not in line)


@pytest.fixture(scope="session")
def env_dir() -> Path:
    """Where the frameworks' own environments are. They outlive the tests; ``bench`` finds out whether they still fit.

    Each is built by who needs it first, and locked meanwhile.
    """
    return Path(os.environ.get("TRIALBED_TEST_ENV_DIR") or ROOT / ".tox" / "environments")


@pytest.fixture(scope="session")
def every_framework(env_dir: Path) -> list[str]:
    """The options that run all of them under the same conditions."""
    flags = [flag for framework in FRAMEWORKS for flag in ("--framework", framework)]
    return [*flags, "--profile", "controlled", "--yes", "--env-dir", str(env_dir)]


@pytest.fixture(scope="session")
def framework_environment(
    env_dir: Path, once: Once, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], FrameworkEnvironment]:
    """Gives the environment of a framework, which who imports first compiles: mostly one process at a time."""
    bench = bench_in(tmp_path_factory.mktemp("elsewhere"), own_environment(), timeout=1200)

    def find(framework: str) -> FrameworkEnvironment:
        def build(folder: Path) -> None:
            adapter = ("--adapter", WITH_EXTRAS[framework]) if framework in WITH_EXTRAS else ()
            (row,) = json.loads(bench("env", "add", framework, *adapter, "--env-dir", env_dir, "--json").out)
            (folder / "path.txt").write_text(row["path"], encoding="utf-8")

        built = once(f"environment-{framework}", build)
        return FrameworkEnvironment(Path((built / "path.txt").read_text(encoding="utf-8")))

    return find
