from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trialbed_plugins import datasets
from trialbed_plugins.executors.interpreters import environment_interpreter, own_interpreter

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment with an interpreter and nothing installed."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    base = Path(sys.base_prefix) / "bin"
    (folder / "pyvenv.cfg").write_text(f"home = {base}\nversion = {sys.version.split()[0]}\n")
    (folder / "lib" / VERSION / "site-packages").mkdir(parents=True)
    return folder


def packages(environment: Path) -> Path:
    return environment / "lib" / VERSION / "site-packages"


def install(folder: Path, name: str, entry_points: str, *modules: str) -> None:
    for module in modules:
        path = folder / module
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)


def python(environment: Path) -> str:
    return str(environment / "bin" / "python")


def test_this_interpreter_hides_the_datasets_wherever_they_are_installed():
    found = own_interpreter()
    assert Path(datasets.__file__).parent in found.hidden
    assert Path(sys.prefix).resolve() in found.readable
    assert Path(sys.executable).resolve() in found.needed


def test_of_a_folder_of_sources_only_what_has_no_dot_is_seen(tmp_path):
    for name in ("agent.py", ".env", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = own_interpreter(str(tmp_path))
    assert [path for path in found.readable if path.is_relative_to(tmp_path)] == [tmp_path / "agent.py"]
    assert tmp_path in found.listed


@pytest.mark.parametrize(
    ("entry_points", "modules", "hidden"),
    [
        ("[trialbed.datasets]\na = acme.data.driver:D\n", ("acme/data/driver.py",), "acme/data"),
        ("[trialbed.datasets]\na = acme_data:D\n", ("acme_data.py",), "acme_data.py"),
        ("[trialbed.datasets]\na = acme_data:D\n", ("acme_data/__init__.py", "acme_data/gold.json"), "acme_data"),
        ("[trialbed.datasets]\na = acme.data:D\n", ("acme/data.py", "acme/gold.json"), "acme"),
        (
            "[trialbed.datasets]\na = acme.data:D\n[trialbed.frameworks]\na = acme.agent:A\n",
            ("acme/data/__init__.py", "acme/agent.py"),
            "acme/data",
        ),
        ("[trialbed.simulators]\na = acme.world:S\n", ("acme/world.py",), "acme"),
    ],
)
def test_the_packages_of_datasets_are_hidden(environment, entry_points, modules, hidden):
    install(packages(environment), "acme", entry_points, *modules)
    found = environment_interpreter(python(environment))
    own = [path for path in found.hidden if path.is_relative_to(environment)]
    assert own == [packages(environment) / hidden]


def test_what_an_environment_says_of_other_folders_is_not_believed(environment, tmp_path):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "key.txt").write_text("")
    (packages(environment) / "evil.pth").write_text(f"{secrets}\n")
    (packages(environment) / "__editable___evil_1_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'evil': '{secrets}'}}\n"
    )
    found = environment_interpreter(python(environment))
    assert [path for path in (*found.readable, *found.listed) if path.is_relative_to(secrets)] == []


def test_what_the_lock_says_is_editable_is_seen(environment, tmp_path):
    checkout = tmp_path / "my checkout"
    (checkout / "src" / "agent").mkdir(parents=True)
    (checkout / "other" / "gold").mkdir(parents=True)
    (checkout / "answers").mkdir()
    (packages(environment) / "mine.pth").write_text(f"{checkout / 'src'}\n")
    (packages(environment) / "__editable___mine_1_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'other': '{checkout / 'other'}', 'answers': '{checkout / 'answers'}'}}\n"
    )
    install(packages(environment), "mine", "[trialbed.datasets]\na = other.gold.driver:D\nb = answers.driver:D\n")
    found = environment_interpreter(python(environment), f"-e {checkout.as_uri()}\n")
    assert {checkout / "src" / "agent", checkout / "other"} <= set(found.readable)
    assert checkout / "src" in found.listed
    assert {checkout / "other" / "gold", checkout / "answers"} <= set(found.hidden)
    assert [path for path in found.needed if path.is_relative_to(checkout)] == [checkout / "other"]
