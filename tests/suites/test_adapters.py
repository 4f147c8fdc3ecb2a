"""Each adapter's own tests and types, where its framework is, at today's newest releases.

LangGraph is installed with Trialbed's tests, so its adapter is tested among them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import for_each
from support.distributions import uv
from support.frameworks import APART, FrameworkEnvironment

ROOT = Path(__file__).parents[2]
TOOLS = ("pytest>=8.3,<10", "pytest-asyncio>=0.26,<2")


@pytest.mark.slow(120)
@pytest.mark.parametrize("framework", APART)
def test_its_own_tests_pass(
    framework: str,
    framework_environment: Callable[[str], FrameworkEnvironment],
    suite: Callable[..., None],
    tmp_path: Path,
) -> None:
    environment = framework_environment(framework)
    # The environment is shared, so what tests need lies beside it, at the releases that it has already.
    (tmp_path / "versions.txt").write_text(environment.versions)
    tools = tmp_path / "tools"
    constraints = ("--constraint", str(tmp_path / "versions.txt"))
    uv("pip", "install", "--quiet", "--python", str(environment.python), "--target", str(tools), *constraints, *TOOLS)
    suite(f"adapters/{framework}", environment.python, f"adapters/{framework}/tests", PYTHONPATH=str(tools))


@pytest.mark.slow(60)
@for_each("framework", APART)
def test_its_types_are_right(
    framework: str, framework_environment: Callable[[str], FrameworkEnvironment], tmp_path: Path
) -> None:
    """One after the other: they share a cache."""
    pytest.importorskip("mypy", reason="mypy is not installed; it comes with the extra `dev`")
    cache, checked = ROOT / ".tox" / "mypy" / "adapters", ROOT / ".mypy_cache"
    if checked.exists() and not cache.exists():  # `make check` has read Trialbed and the standard library
        shutil.copytree(checked, cache)
    stubs = tmp_path / "stubs"
    if not stubs.exists():
        stubs.mkdir()
        for found in Path(sysconfig.get_path("purelib")).glob("*-stubs"):
            (stubs / found.name).symlink_to(found)
    where = ("--python-executable", str(framework_environment(framework).python), "--cache-dir", str(cache))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *where, f"adapters/{framework}/src"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(stubs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
