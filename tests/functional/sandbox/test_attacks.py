"""The attack suite in every sandbox, as root and as an ordinary user; without one, see the run with hostile agents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels, uv
from support.warm import warm_programs

from trialbed_adapter_lab.hostile import ATTACKS, CHEATS, run_attacks, run_cheats

SOME = (
    *("segfault", "crash beside a daemon", "kill the group", "kill the parent", "stop itself"),
    *("giant answer", "grow in a child"),
    *("leave a daemon", "bounded fork bomb", "lower the limits", "remove all folders"),
)
"""Attacks by processes, memory, limits, pipes and files, which sandboxes are between; all are tried without one."""
OF_USERS = ("kill the group", "kill the parent", "bounded fork bomb", "lower the limits", "remove all folders")
"""Of these, those that an ordinary user's rights and limits decide about; the others are the same for everybody."""
SOME_CHEATS = ("another model", "forced by name", "unasked calls", "facts from the dataset", "work when closed")
NONE = "scripted:none"
"""The model with which they are tried: it calls nothing."""
SECONDS = 5
"""That a trial may take: half of the usual, which one of them takes to its end."""
ORDINARY = 65534
AS_ORDINARY = ("setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "--bounding-set=-all")
PROGRAM = f"""
import json, os, sys
from dataclasses import replace
from trialbed_adapter_lab.hostile import ATTACKS, run_attacks, run_probes

some = [attack for attack in ATTACKS if attack.name in {OF_USERS}]
report = run_attacks("reference", sys.argv[1], some, timeout={SECONDS})
print(json.dumps({{"user": os.geteuid(), **replace(report, reach=run_probes(sys.argv[1])).as_json()}}))
"""


def test_the_chosen_attacks_are_known() -> None:
    assert {attack.name for attack in ATTACKS} >= set(SOME) > set(OF_USERS)
    assert {cheat.name for cheat in CHEATS if cheat.model == NONE} >= set(SOME_CHEATS)


@pytest.mark.slow(60)
def test_attacks_of_whoever_runs_the_tests_are_held(sandbox: str) -> None:
    report = run_attacks("reference", sandbox, [one for one in ATTACKS if one.name in SOME], timeout=SECONDS)
    assert [result for result in report.results if not result.held] == []
    chosen = [cheat for cheat in CHEATS if cheat.name in SOME_CHEATS and cheat.model == NONE]
    with warm_programs():
        cheats = run_cheats("reference", sandbox, chosen)
    assert len(cheats) == len(SOME_CHEATS)
    assert [result for result in cheats if not result.held] == []


@pytest.fixture(scope="module")
def ordinary() -> Iterator[Installation]:
    """Trialbed as an ordinary user has it, in a folder and for an interpreter that such a user can reach."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv; its own tests run as whoever runs them")
    # pytest's own folders are closed to other users.
    with tempfile.TemporaryDirectory(prefix="trialbed-ordinary-") as folder:
        os.chown(folder, ORDINARY, ORDINARY)
        yield Installation(Path(folder))


@pytest.fixture(scope="module")
def ordinary_installation(
    ordinary: Installation, wheels: Wheels, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """Trialbed with its sandboxes, in a virtual environment of the first interpreter that an ordinary user can run."""
    interpreter = next(
        filter(_runs, (os.path.realpath(sys.executable), *sorted(map(str, Path("/usr/bin").glob("python3.1?"))))), None
    )
    if interpreter is None:
        pytest.skip("an ordinary user can run no Python here that Trialbed supports")
    environment = Installation(ordinary.folder / "venv")
    uv("venv", "--quiet", "--python", interpreter, str(environment.folder))
    environment.install(f"{wheels.wheel}[sandbox]")
    # An ordinary user cannot write bytecode there: each of the programs would compile all that it imports anew.
    elsewhere = tmp_path_factory.mktemp("first")
    for command in (("-c", "import trialbed_adapter_lab.hostile"), ("-m", "trialbed", "run", "--limit", "1")):
        done = environment.run(str(environment.python), *command, cwd=elsewhere)
        assert done.returncode == 0, done.stderr
    return environment


def _runs(interpreter: str) -> bool:
    """Return whether an ordinary user can run it. The shell starts it, since setpriv itself still has root's powers."""
    check = [interpreter, "-I", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    shell = ("sh", "-c", 'exec "$@"', "sh")
    return subprocess.run([*AS_ORDINARY, *shell, *check], capture_output=True, check=False).returncode == 0


@pytest.mark.slow(60)
@pytest.mark.parametrize("mode", ["process", "container"])
def test_attacks_of_an_ordinary_user_are_held(ordinary_installation: Installation, mode: str) -> None:
    home = ordinary_installation.folder.parent
    python = str(ordinary_installation.python)
    done = ordinary_installation.run(*AS_ORDINARY, python, "-c", PROGRAM, mode, cwd=home, HOME=str(home))
    if "--sandbox" in done.stderr and done.returncode != 0:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["user"] == ORDINARY
    assert [result for result in (*report["results"], *report["reach"]) if not result["held"]] == []
    assert {result["attack"] for result in report["results"]} == set(OF_USERS)
    assert [result for result in report["reach"] if result["got"]] == []
