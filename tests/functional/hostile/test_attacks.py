"""Agents that crash, hang, forge, flood and leave things behind: each costs its own trial and no other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.distributions import Installation, Wheels, uv
from support.hostile_agents import API, hostile_run

from trialbed.errors import SandboxUnavailable
from trialbed.store import StoredRun
from trialbed_plugins.executors.sandbox import check_sandbox

INNOCENT = "reference"
SECONDS = 5
"""Time limit of a trial. Two attacks keep a processor busy to its end."""


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        name: the query that makes the agent carry it out.
        kind: of the failure of its own trial; empty if it is answered.
        message: a part of the failure's message.
        refused: the kind of failure in a sandbox that denies the means.
    """

    name: str
    kind: str = ""
    message: str = ""
    refused: str = ""


ATTACKS = (
    Attack("exit code", "crash", "exit code 3"),
    Attack("exit in native code", "crash", "SIGABRT"),
    Attack("segfault", "crash", "SIGSEGV"),
    Attack("close everything", "crash", "worker"),
    Attack("crash beside a daemon", "crash", "exit code 3"),
    Attack("kill the group", "crash", "SIGTERM"),
    Attack("kill the parent", "crash", "SIGKILL", refused="agent"),
    Attack("become another program", "crash", "closed its output"),
    Attack("sleep", "timeout", " s"),
    Attack("busy loop", "timeout", " s"),
    Attack("blocking sleep", "timeout", " s"),
    Attack("hold the lock", "timeout", " s"),
    Attack("hang with children", "timeout", " s"),
    Attack("stop itself", "timeout", " s"),
    Attack("deadlock", "timeout", " s"),
    Attack("forge", "protocol", "nonce"),
    Attack("garbage", "protocol", "not a message"),
    Attack("endless line", "protocol", "32 MiB"),
    Attack("giant answer", "protocol", "32 MiB"),
    Attack("grow", "memory", "limit of 300 MiB"),
    Attack("grow in a child", "memory", "limit of 300 MiB"),
    Attack("no memory", "memory", "MemoryError"),
    Attack("raise error", "agent", "ValueError: the framework does not like this"),
    Attack("raise unprintable", "agent", "Unprintable"),
    Attack("raise system exit", "agent", "SystemExit: 4"),
    Attack("raise interrupt", "agent", "KeyboardInterrupt"),
    Attack("raise cancelled", "agent", "CancelledError"),
    Attack("exit in a task", "agent", "SystemExit: 5"),
    Attack("recurse", "agent", "RecursionError"),
    Attack("model down", "model", "status 500: down"),
    Attack("wrong type", "answer", "not a value of type int"),
    Attack("bad node", "answer", "answer.answer_details[0].message"),
    Attack("not json", "answer", "cannot be written as JSON"),
    Attack("fork and return twice"),
    Attack("fork in thread"),
    Attack("leave a child"),
    Attack("leave a daemon"),
    Attack("bounded fork bomb"),
    Attack("print"),
    Attack("print no text"),
    Attack("flood"),
    Attack("close the outputs"),
    Attack("leak a task"),
    Attack("leak a stubborn task"),
    Attack("leak descriptors"),
    Attack("leak threads"),
    Attack("threads that never end"),
    Attack("exit in a thread"),
    Attack("hang at exit"),
    Attack("lower the limits"),
    Attack("remove modules"),
    Attack("replace functions"),
    Attack("replace asyncio"),
    Attack("change the clocks"),
    Attack("change folder"),
    Attack("remove folder", refused="agent"),
    Attack("remove all folders"),
)

OF_USERS = ("kill the group", "kill the parent", "bounded fork bomb", "lower the limits", "remove all folders")
"""Attacks that depend on the rights and limits of the user."""

SANDBOXED = (
    *("segfault", "crash beside a daemon", "stop itself", "giant answer", "grow in a child", "leave a daemon"),
    *OF_USERS,
)
"""Attacks by processes, memory, limits, pipes and files, which a sandbox stands between."""


def attack(
    folder: Path, names: Sequence[str], *options: str, program: Sequence[str] = (sys.executable, "-P")
) -> dict[str, list[str]]:
    """Run attacks beside an innocent framework, each followed by a harmless trial.

    Returns the attacks that had another end than they may have, or that cost another trial anything.
    """
    attacks = [one for one in ATTACKS if one.name in names]
    assert len(attacks) == len(names)
    queries = [
        {"query_id": query_id, "text": text, "apis": [API], "gold_calls": [{"api": API, "arguments": {}}]}
        for name in names
        for query_id, text in ((name, name), (f"after {name}", "good"))
    ]
    (folder / "attacks.json").write_text(json.dumps({"name": "attacks", "queries": queries}))
    command = ["-f", INNOCENT, "-f", "hostile", "--dataset", "attacks.json", "--timeout", str(SECONDS)]
    with hostile_run(folder, [*command, "--concurrency", "2", *options], program=program) as run:
        return _not_held(run, attacks, sandbox="--sandbox" in options)


def _not_held(run: StoredRun, attacks: Sequence[Attack], *, sandbox: bool) -> dict[str, list[str]]:
    ends = {
        (trial.key.framework, trial.key.query_id): f"{trial.failure.kind}: {trial.failure.message}"
        if trial.failure
        else ""
        for trial in run.trials()
    }
    found = {}
    for one in attacks:
        after = f"after {one.name}"
        own, *others = (
            ends.get(key, "no trial")
            for key in (("hostile", one.name), ("hostile", after), (INNOCENT, one.name), (INNOCENT, after))
        )
        kind, _, message = own.partition(": ")
        # On a busy machine, any attack may run out of time.
        held = kind == "timeout" or (kind == one.kind and one.message in message)
        if any(others) or not (held or (sandbox and kind == one.refused)):
            found[one.name] = [own, *others]
    return found


@pytest.mark.slow(60)
def test_every_attack_costs_its_own_trial_and_nothing_else(tmp_path: Path) -> None:
    assert attack(tmp_path, [one.name for one in ATTACKS]) == {}


@pytest.mark.slow(60)
def test_attacks_in_a_sandbox_are_held(tmp_path: Path) -> None:
    try:
        check_sandbox()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    assert attack(tmp_path, SANDBOXED, "--sandbox") == {}


ORDINARY = 65534
AS_ORDINARY = ("setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "--bounding-set=-all")


@pytest.fixture(scope="module")
def ordinary() -> Iterator[Path]:
    """A folder of an ordinary user, who cannot reach pytest's own folders."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv; all other tests run as the user who runs them")
    with tempfile.TemporaryDirectory(prefix="trialbed-ordinary-") as folder:
        os.chown(folder, ORDINARY, ORDINARY)
        yield Path(folder)


@pytest.fixture(scope="module")
def ordinary_python(ordinary: Path, wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Trialbed with its sandbox, in a virtual environment of the first interpreter that an ordinary user can run."""
    interpreters = (os.path.realpath(sys.executable), *sorted(map(str, Path("/usr/bin").glob("python3.1?"))))
    interpreter = next(filter(_runs, interpreters), None)
    if interpreter is None:
        pytest.skip("an ordinary user can run no Python here that Trialbed supports")
    environment = Installation(ordinary / "venv")
    uv("venv", "--quiet", "--python", interpreter, str(environment.folder))
    environment.install(f"{wheels.wheel}[sandbox]")
    # An ordinary user cannot write bytecode there: each program would compile all that it imports.
    first = (str(environment.python), "-m", "trialbed", "run", "--limit", "1")
    done = environment.run(*first, cwd=tmp_path_factory.mktemp("first"))
    assert done.returncode == 0, done.stderr
    return str(environment.python)


def _runs(interpreter: str) -> bool:
    """Return whether an ordinary user can run it. The shell starts it, since setpriv itself still has root's powers."""
    check = [interpreter, "-I", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    shell = ("sh", "-c", 'exec "$@"', "sh")
    return subprocess.run([*AS_ORDINARY, *shell, *check], capture_output=True, check=False).returncode == 0


@pytest.mark.slow(60)
@pytest.mark.packaging
def test_attacks_of_an_ordinary_user_in_a_sandbox_are_held(ordinary: Path, ordinary_python: str) -> None:
    program = (*AS_ORDINARY, ordinary_python, "-P")
    assert attack(ordinary, OF_USERS, "--sandbox", program=program) == {}
