"""Several processes at once, and builds that end before their time."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from support.index import Index
from support.machines import Machine
from support.processes import family, wait_until_ended

pytestmark = pytest.mark.slow(20)

WAITS = "another process is building environments; waiting"


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read the process's standard error up to the line with this text."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return line
    raise AssertionError(f"ended without saying {text!r}")


def unfinished(machine: Machine) -> list[Path]:
    return list((machine.env_dir / ".unfinished").glob("*"))


def test_two_processes_build_one_environment(machine: Machine, index: Index) -> None:
    index.gate.clear()
    first = machine.start("env", "add", "acme", "--json")
    line_with(first, "building its environment")
    second = machine.start("env", "add", "acme", "--json")
    line_with(second, WAITS)
    index.gate.set()
    outputs = [process.communicate(timeout=60) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0]
    rows = [json.loads(out) for out, _ in outputs]
    assert rows[0] == rows[1]
    assert "building its" not in outputs[1][1]
    assert index.requests.count("/files/acme-1.0-py3-none-any.whl") == 1


def test_a_killed_build_is_built_again_and_leaves_nothing(machine: Machine, index: Index) -> None:
    index.gate.clear()
    killed = machine.start("env", "add", "acme")
    line_with(killed, "building its environment")
    assert index.asked.wait(30)
    orphans = family(killed.pid)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert len(unfinished(machine)) == 1
    assert machine.listed() == []
    index.gate.set()
    wait_until_ended(orphans)
    row = machine.add("acme")
    assert unfinished(machine) == []
    code = "import acme, importlib.metadata as m; print(acme.VERSION, m.version('trialbed-acme'))"
    assert subprocess.check_output([row["interpreter"], "-c", code], text=True) == "1.0 0.3\n"
    assert machine.listed() == [row]


def test_a_build_that_is_interrupted_ends_uv_and_leaves_nothing(machine: Machine, index: Index) -> None:
    for ending in (signal.SIGINT, signal.SIGTERM):
        index.asked.clear()
        index.gate.clear()
        process = machine.start("env", "add", "acme")
        line_with(process, "building its environment")
        assert index.asked.wait(30)
        process.send_signal(ending)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        assert unfinished(machine) == []
        index.gate.set()
    assert machine.listed() == []


def test_a_folder_without_its_description_is_no_environment(machine: Machine) -> None:
    row = machine.add("acme")
    (Path(row["path"]) / "environment.json").unlink()
    assert machine.listed() == []
    again = machine.add("acme")
    assert (again["environment"], again["lock_digest"]) == (row["environment"], row["lock_digest"])
