"""Installed outside the checkout, from wheels alone, everything that is promised works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.distributions import THIRD_PARTY, Installation, Wheels

pytestmark = pytest.mark.packaging(50)

LOAD_ALL = """
import json
from importlib.metadata import distribution
from pathlib import Path
import trialbed
found = []
for entry in distribution("trialbed").entry_points:
    if entry.group == "pytest11":  # whoever has pytest load it
        continue
    entry.load()
    found.append([entry.group, entry.name])
print(json.dumps({"entry_points": found, "home": str(Path(trialbed.__file__).resolve())}))
"""


@pytest.fixture(scope="session")
def installation(bare_installation: Installation) -> Installation:
    return bare_installation


@pytest.fixture(scope="session")
def with_langgraph(wheels: Wheels, new_installation: Callable[..., Installation]) -> Installation:
    return new_installation(wheels.langgraph)


def test_every_entry_point_loads_from_the_wheel_alone(installation: Installation, tmp_path: Path) -> None:
    """No extra, no test dependency: what an entry point imports is among the requirements."""
    done = installation.run(str(installation.python), "-c", LOAD_ALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert str(installation.folder.resolve()) in found["home"]
    groups = {group for group, _ in found["entry_points"]}
    assert {"console_scripts", "trialbed.plugins", "trialbed.frameworks", "trialbed.datasets"} <= groups
    assert len(found["entry_points"]) > 15


@pytest.mark.parametrize("command", ["bench", "trialbed"])
def test_both_commands_are_one(installation: Installation, tmp_path: Path, command: str) -> None:
    done = installation.run(str(installation.folder / "bin" / command), "--version", cwd=tmp_path)
    assert done.stdout.startswith("bench, version 0.")


def test_the_module_is_the_command(installation: Installation, tmp_path: Path) -> None:
    done = installation.run(str(installation.python), "-m", "trialbed", "data", "list", "--json", cwd=tmp_path)
    assert "mini" in [row["name"] for row in json.loads(done.stdout)]


def test_a_newcomers_first_command_works(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reference" in done.stdout
    document = json.loads((tmp_path / "results" / "tools" / "reference_mini.json").read_text())
    assert document["summary"]["total_queries"] == 60
    assert document["summary"]["average_sopr_score"] == 1.0
    assert document["summary"]["error_count"] == 0


def test_an_adapter_is_found_when_it_is_installed(with_langgraph: Installation, tmp_path: Path) -> None:
    documents = with_langgraph.bench_json(
        "run", "--framework", "reference", "--framework", "langgraph", "--limit", "2", cwd=tmp_path
    )
    for document in documents:
        assert document["summary"]["total_queries"] == 2
        assert document["summary"]["error_count"] == 0
        assert document["summary"]["average_sopr_score"] == 1.0
    assert [document["metadata"]["agent_name"] for document in documents] == ["reference", "langgraph:native"]


def test_an_adapter_that_is_not_installed_is_named_with_its_command(installation: Installation, tmp_path: Path) -> None:
    done = installation.bench("run", "--framework", "langgraph", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"`pip install \S*trialbed.langgraph\S*`", done.stderr)


def test_type_checkers_of_others_see_our_types(check_types: Callable[[Path], None]) -> None:
    """Acme's sources, checked strictly against the installed wheel."""
    check_types(THIRD_PARTY / "trialbed-acme" / "src")
