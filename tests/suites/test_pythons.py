"""The quick unit tests on every Python that Trialbed declares; the slow ones run on this one.

All run on this one. On the newest every module is imported, and a twelfth of the files of tests runs, of every room at
least one. On those between, whose changes the newest has too, a run is made. `tox run -m pythons` runs all on each.
"""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels, uv
from support.parts import is_left_out

ROOT = Path(__file__).parents[2]
SETTINGS = configparser.ConfigParser()
SETTINGS.read(ROOT / "setup.cfg")
CLASSIFIER = re.compile(r"^Programming Language :: Python :: (3\.\d+)$", re.MULTILINE)
DECLARED = tuple(CLASSIFIER.findall(SETTINGS["metadata"]["classifiers"]))
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
PARTS = 12
"""Into so many are the files of tests divided; one of them runs on the newest Python."""
PART = 2
"""It has as many files as the first, which take three times as long."""

EVERY_MODULE = """
import importlib, pkgutil
from importlib.metadata import distribution

names = {file.parts[0] for file in distribution("trialbed").files if file.name == "__init__.py"}
count = 0
for name in sorted(names):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if module.name.endswith(".__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            assert missing.name == "ray", module.name  # the extra that tests can do without
        count += 1
print(count)
"""


@pytest.mark.slow(50)
@pytest.mark.parametrize("version", DECLARED)
def test_it_works_on(
    version: str, wheels: Wheels, suite: Callable[..., None], tmp_path: Path, record_property: Callable[..., None]
) -> None:
    if version == HERE:
        record_property("suite", f"Python {version}: it runs these tests")
        return
    interpreter = found(version)
    if interpreter is None:
        pytest.skip(f"Python {version} is neither here nor can uv install it: nothing was tested on it")
    there = Installation(tmp_path / "venv")
    uv("venv", "--quiet", "--python", interpreter, str(there.folder))
    is_newest = version == DECLARED[-1]
    # What only tests need takes longer to install than the run does.
    there.install(*((f"{wheels.wheel}[test]", wheels.langgraph) if is_newest else (wheels.wheel,)))
    (document,) = there.bench_json("run", "--limit", "2", cwd=tmp_path)
    assert document["summary"]["average_sopr_score"] == 1.0
    if not is_newest:
        record_property("suite", f"Python {version}: a run is made")
        return
    done = there.run(str(there.python), "-c", EVERY_MODULE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 400
    part = f"{PART}/{PARTS}"
    quick = ("-p", "hypothesispytest", "tests/unit", "-m", "not slow and not matrix", "--part", part)
    # To rewrite what hundreds of tests assert takes longer than to run these.
    title = f"Python {version}, {done.stdout.strip()} modules and part {part} of the tests"
    suite(title, there.python, *quick, "--assert", "plain", HYPOTHESIS_PROFILE="few")


def test_the_parts_have_a_file_of_each_room_and_are_together_all(tmp_path: Path) -> None:
    for count in (1, 2, PARTS - 1, PARTS, 5 * PARTS + 1):
        room = tmp_path / str(count)
        files = [room / str(number % 3) / f"test_{number}.py" for number in range(count)]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        kept = [
            [file for file in files if not is_left_out(file, room, number, PARTS)] for number in range(1, PARTS + 1)
        ]
        assert all(kept)
        assert set().union(*kept) == {*files}
        assert sum(map(len, kept)) == max(count, PARTS)


def found(version: str) -> str | None:
    """An interpreter of this version: on the path, of pyenv, or of uv, which downloads it where it may."""
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for candidate in [f"python{version}", *sorted(map(str, folder.glob(f"{version}.*/bin/python")), reverse=True)]:
        if _is(candidate, version):
            return candidate
    quickly = {**os.environ, "UV_HTTP_TIMEOUT": "30", "UV_HTTP_RETRIES": "1"}
    installed = subprocess.run([sys.executable, "-m", "uv", "python", "install", version], env=quickly, check=False)
    return version if installed.returncode == 0 else None


def _is(candidate: str, version: str) -> bool:
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([candidate, "-c", show], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return False
    return done.stdout.strip() == version


def test_declarations_agree() -> None:
    """Trialbed, its adapters, tox and ruff name the same Pythons, so those that are declared are those tested."""
    oldest = DECLARED[0]
    assert sorted(DECLARED, key=lambda version: int(version.partition(".")[2])) == list(DECLARED)
    assert SETTINGS["options"]["python_requires"] == f">={oldest}"
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini")
    assert f"pythons = {', '.join('py' + version.replace('.', '') for version in DECLARED)}" in tox["tox"]["labels"]
    for file in sorted((ROOT / "adapters").glob("*/pyproject.toml")):
        assert tomllib.loads(file.read_text())["project"]["requires-python"] == f">={oldest}", file
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert ruff["target-version"] == f"py{oldest.replace('.', '')}"
