"""What goes wrong says why, and what to do next."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.index import Index
from support.machines import ACME, Machine

pytestmark = pytest.mark.slow(40)


def test_a_failed_resolution_has_the_resolvers_reason(machine: Machine, index: Index) -> None:
    index.publish("left", "1.0", requires=["shared<2"])
    index.publish("right", "1.0", requires=["shared>=2"])
    index.publish("shared", "1.0")
    index.publish("shared", "2.0")
    index.publish("trialbed-acme", "0.4", requires=["left", "right"], entry_points=ACME)
    done = machine.bench("env", "add", "acme", "--adapter", "trialbed-acme==0.4", code=3)
    assert "Error: acme: its requirements cannot be resolved" in done.err
    assert "we can conclude" in done.err
    assert "shared<2" in done.err
    assert "Traceback" not in done.err
    assert machine.listed() == []


@pytest.mark.parametrize(
    ("framework", "says"),
    [
        ("acme==99.0", ["no version of acme==99.0", "Without a version (acme)"]),
        ("nothingofthekind", ["trialbed-nothingofthekind was not found", "--adapter REQUIREMENT"]),
    ],
)
def test_what_does_not_exist_is_named(machine: Machine, framework: str, says: list[str]) -> None:
    done = machine.bench("env", "add", framework, code=3)
    for text in says:
        assert text in done.err


@pytest.mark.parametrize(
    ("framework", "says"),
    [
        ("acme>=1", "write NAME, NAME:PROFILE or NAME==VERSION"),
        ("acme==", "the version after '==' is missing"),
        ("acme==1.*", "is not a version"),
        ("acme==one", "is not a version"),
        ("../acme", "does not name a framework"),
        ("langraph", "did you mean 'langgraph'"),
        ("reference", "is a part of trialbed"),
        ("reference==0.1", "has no releases of its own"),
    ],
)
def test_a_name_of_the_wrong_form_is_wrong_usage(machine: Machine, framework: str, says: str) -> None:
    for command in (("env", "add", framework), ("run", "--yes", "-f", framework)):
        if (command[0], framework) != ("run", "reference"):
            assert says in machine.bench(*command, code=2).err


def test_a_password_of_the_index_is_shown_nowhere(machine: Machine, index: Index) -> None:
    index.login = "alice:correct-horse"
    machine.variables["UV_DEFAULT_INDEX"] = f"http://bob:battery-staple@{index.host}/simple"
    refused = machine.bench("env", "add", "acme", code=3)
    machine.variables["UV_DEFAULT_INDEX"] = f"http://{index.login}@{index.host}/simple"
    row = machine.add("acme")
    lock = machine.bench("env", "lock", "acme").out
    failed = machine.bench("env", "add", "acme==99", code=3)
    written = [
        path.read_text()
        for path in machine.env_dir.rglob("*")
        if path.suffix in (".json", ".txt", ".cfg") and path.is_file()
    ]
    assert row["framework_version"] == "1.0"
    for text in (refused.err, failed.err, lock, *written):
        assert "correct-horse" not in text
        assert "battery-staple" not in text


def test_credentials_in_an_adapters_url_stay_out_of_the_lock(machine: Machine, index: Index) -> None:
    index.login = "alice:correct-horse"
    machine.variables["UV_DEFAULT_INDEX"] = f"http://{index.login}@{index.host}/simple"
    url = f"http://{index.login}@{index.host}/files/trialbed_acme-0.3-py3-none-any.whl"
    row = machine.add("acme", "--adapter", f"trialbed-acme @ {url}")
    lock = (Path(row["path"]) / "lock.txt").read_text()
    assert f"trialbed-acme @ {url.replace('alice:correct-horse@', '')}" in lock
    told = [path for path in machine.env_dir.rglob("*.json") if "correct-horse" in path.read_text()]
    assert told == []
    assert machine.add("acme") == row


def test_without_a_terminal_to_ask_on_both_alternatives_are_named(machine: Machine) -> None:
    done = machine.bench("run", "-f", "acme", "-f", "reference", "-f", "crewai", code=2)
    assert "give --yes" in done.err
    assert "bench env add acme crewai" in done.err
    assert not machine.env_dir.exists()


def test_no_uv_is_told_with_its_remedy(machine: Machine, tmp_path: Path) -> None:
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "uv.py").write_text("raise ImportError('not here')")
    machine.variables["PYTHONPATH"] += os.pathsep + str(blocker)
    machine.variables["PATH"] = str(blocker)
    assert "pip install uv" in machine.bench("env", "add", "acme", code=3).err
    doctor = {check["subject"]: check for check in json.loads(machine.bench("doctor", "--json", code=1).out)}
    assert doctor["uv"]["state"] == "bad"


def test_in_a_folder_that_cannot_be_written_installed_environments_are_found(machine: Machine) -> None:
    row = machine.add("acme")
    (machine.env_dir / ".lock").unlink()
    (machine.env_dir / ".lock").mkdir()  # where no file can be, also for those who may write everywhere
    assert machine.add("acme") == row
    refused = machine.bench("env", "add", "acme", "--refresh", code=3).err
    assert "name another folder with --env-dir" in refused
    assert "free some space" not in refused
    kept = machine.bench("env", "remove", "acme", code=2).err
    assert f"{row['environment']} cannot be removed" in kept
    assert machine.listed() == [row]
