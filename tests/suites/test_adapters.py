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
from hashlib import sha256
from pathlib import Path

import pytest
from support.distributions import uv
from support.frameworks import APART, FrameworkEnvironment
from support.once import Once

ROOT = Path(__file__).parents[2]
TOOLS = ("pytest>=8.3,<10", "pytest-asyncio>=0.26,<2")
WITH_THEM = {"iniconfig", "packaging", "pluggy", "pygments", "pytest", "pytest-asyncio", "typing-extensions"}
"""They, and all that they need."""


@pytest.fixture(scope="session")
def tools(once: Once) -> Callable[[FrameworkEnvironment], Path]:
    """Gives a folder of what tests need beside an environment, which is shared, at the releases that it has already.

    Environments with the same releases have the same folder: in each of its own pytest would be compiled anew.
    """

    def find(environment: FrameworkEnvironment) -> Path:
        versions = sorted(line for line in environment.versions.splitlines() if line.partition("==")[0] in WITH_THEM)
        constraints = "\n".join((*versions, f"# {packages_of(environment).parent.name}"))

        def install(folder: Path) -> None:
            (folder / "versions.txt").write_text(constraints)
            options = ("--constraint", str(folder / "versions.txt"), "--target", str(folder / "tools"))
            uv("pip", "install", "--quiet", "--python", str(environment.python), *options, *TOOLS)
            found = {file.name.partition("-")[0] for file in (folder / "tools").glob("*.dist-info")}
            assert {name.replace("_", "-").lower() for name in found} <= WITH_THEM

        return once(f"tools-{sha256(constraints.encode()).hexdigest()[:12]}", install) / "tools"

    return find


@pytest.mark.slow(120)
@pytest.mark.parametrize("framework", APART)
def test_its_own_tests_pass(
    framework: str,
    framework_environment: Callable[[str], FrameworkEnvironment],
    tools: Callable[[FrameworkEnvironment], Path],
    suite: Callable[..., None],
) -> None:
    environment = framework_environment(framework)
    own = {"PYTHONPATH": str(tools(environment))}
    suite(f"adapters/{framework}", environment.python, f"adapters/{framework}/tests", **own)


@pytest.mark.slow(30)
def test_their_types_are_right(framework_environment: Callable[[str], FrameworkEnvironment], tmp_path: Path) -> None:
    """Check all at once: what frameworks have in common is read here, as `make check` has left it."""
    pytest.importorskip("mypy", reason="mypy is not installed; it comes with the extra `dev`")
    here, found = Path(sysconfig.get_path("purelib")), tmp_path / "packages"
    found.mkdir()
    for stubs in here.glob("*-stubs"):
        (found / stubs.name).symlink_to(stubs)
    for framework in APART:
        link_packages(packages_of(framework_environment(framework)), here, found)
    cache, checked = ROOT / ".tox" / "mypy" / "adapters", ROOT / ".mypy_cache"
    if checked.exists() and not cache.exists():
        shutil.copytree(checked, cache)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *(f"adapters/{name}/src" for name in APART)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(found)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def packages_of(environment: FrameworkEnvironment) -> Path:
    """Return the folder with the packages of an environment."""
    (packages,) = (environment.folder / "venv" / "lib").glob("python*/site-packages")
    return packages


def link_packages(packages: Path, here: Path, found: Path) -> None:
    """Link each package of an environment that is not here and not yet found; of folders that are shared, each part."""
    for package in packages.iterdir():
        if package.suffix in (".dist-info", ".pth"):
            continue
        shared = package.is_dir() and not (package / "__init__.py").exists()
        if shared and (here / package.name).is_dir():
            (found / package.name).mkdir(exist_ok=True)
            link_packages(package, here / package.name, found / package.name)
        elif not (here / package.name).exists() and not (found / package.name).exists():
            (found / package.name).symlink_to(package)
