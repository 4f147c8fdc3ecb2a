"""``bench run`` with frameworks in environments of their own, with the real Trialbed in them.

Its dependencies come from the index that uv uses here, or from uv's cache.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.machines import Machine

from trialbed.store import Store

pytestmark = pytest.mark.slow(30)

BOTH = ("run", "-f", "acme==1.0", "-f", "acme==2.0", "--limit", "2", "--json")


@dataclass
class Talk:
    """A command on a terminal."""

    process: subprocess.Popen[str]
    terminal: int
    heard: str = ""

    def until(self, text: str) -> None:
        while text not in self.heard:
            self.heard += os.read(self.terminal, 4096).decode()

    def say(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def end(self) -> str:
        """What it printed as its result, which is read beside the terminal: it may be more than a pipe holds."""
        with ThreadPoolExecutor(1) as reader:
            printed = reader.submit(self.process.communicate)
            while True:
                try:
                    heard = os.read(self.terminal, 4096)
                except OSError:  # Linux ends a terminal that nobody writes to any more in this way
                    heard = b""
                if not heard:
                    break
                self.heard += heard.decode(errors="replace")
            return printed.result(timeout=60)[0]


@contextmanager
def talk(machine: Machine, *arguments: str) -> Iterator[Talk]:
    ours, theirs = pty.openpty()
    process = machine.start(*arguments, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    try:
        yield Talk(process, ours)
    finally:
        os.close(ours)


def metadata(out: str) -> list[dict[str, Any]]:
    return [document["metadata"] for document in json.loads(out)]


@pytest.mark.packaging
def test_two_releases_of_a_framework_are_compared_in_one_run(real: Machine, tmp_path: Path) -> None:
    with talk(real, *BOTH) as asked:
        asked.until("[y/N]")
        asked.say("y\n")
        out = asked.end()
    assert asked.process.returncode == 0, asked.heard
    documents = json.loads(out)
    assert asked.heard.count("[y/N]") == 1
    assert "Build environments for acme==1.0, acme==2.0 with uv" in asked.heard
    about = [document["metadata"] for document in documents]
    assert [item["agent_name"] for item in about] == ["acme==1.0", "acme==2.0"]
    assert [item["framework_version"] for item in about] == ["1.0", "2.0"]
    assert [document["summary"]["average_sopr_score"] for document in documents] == [1.0, 1.0]
    rows = {row["answers"][0]: row for row in real.listed()}
    assert {item["framework"]: item["lock_digest"] for item in about} == {
        label: row["lock_digest"] for label, row in rows.items()
    }
    assert "acme==1.0" in about[0]["packages"]
    with Store.open(str(real.folder / ".trialbed" / "trialbed.db")) as store:
        (run,) = store.runs()
    for framework in run.frameworks:
        assert framework.lock == (Path(rows[framework.name]["path"]) / "lock.txt").read_text()
        assert f"{framework.name} \\" in framework.lock.splitlines()

    # Again: nobody is asked, nothing is built, nothing is asked of the network.
    real.variables["UV_OFFLINE"] = "1"
    again = real.bench(*BOTH)
    assert again.err.count("own environment acme-") == 2
    assert "building" not in again.err
    assert [item["lock_digest"] for item in metadata(again.out)] == [item["lock_digest"] for item in about]


def test_who_says_no_gets_nothing_built_and_is_told_how(machine: Machine) -> None:
    with talk(machine, "run", "-f", "acme", "-f", "reference") as asked:
        asked.until("[y/N]")
        asked.say("n\n")
        assert asked.end() == ""
    assert asked.process.returncode == 3
    assert "Build an environment for acme with uv" in asked.heard
    assert "bench env add acme" in asked.heard.split("[y/N]")[1]
    assert not machine.env_dir.exists()
