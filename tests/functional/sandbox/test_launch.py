"""What a program in the sandbox can do: its files, its environment, the kernel's settings, its siblings, its user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import SandboxUnavailable, UsageError
from trialbed.worker import worker_environment
from trialbed_plugins.executors import sandbox
from trialbed_plugins.executors.sandbox import NOWHERE, check_sandbox, launch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

WRITABLE = """
import json, os
def opened(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True
settings = ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"]
files = [os.path.join(place, name) for top in settings for place, _, names in os.walk(top) for name in names]
files += ["/proc/mtrr", "/proc/sysrq-trigger", "/proc/latency_stats", "/proc/timer_stats", "/proc/slabinfo"]
open("made", "w").close()
print(json.dumps({"uid": os.getuid(), "writable": [path for path in files if opened(path)]}))
"""

SCHEDULING = """
import ctypes, json, os, platform, time
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": (251, 314, 142), "aarch64": (30, 274, 118)}[platform.machine()]
def call(number, *arguments):
    return LIBC.syscall(number, *(ctypes.c_long(argument) for argument in arguments)) == 0
def tried(attempt, who):
    try:
        return attempt(who) is not False
    except OSError:
        return False
attempts = {
    "sched_setaffinity": lambda who: os.sched_setaffinity(who, os.sched_getaffinity(0)),
    "sched_setscheduler": lambda who: os.sched_setscheduler(who, os.SCHED_BATCH, os.sched_param(0)),
    "sched_setparam": lambda who: os.sched_setparam(who, os.sched_param(0)),
    "ioprio_set": lambda who: call(NUMBERS[0], 1, who, 3 << 13),
    "ioprio_set of a group": lambda who: call(NUMBERS[0], 2, os.getpgrp() if who else 0, 3 << 13),
}
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
found = {who: {name: tried(attempt, pid) for name, attempt in attempts.items()} for who, pid in
         {"own": 0, "other": child}.items()}
os.kill(child, 9)
print(json.dumps(found))
"""


READABLE = """
import json, os
def opened(path):
    try:
        return bool(open(path).read())
    except OSError:
        return False
root = os.environ["ROOT"]
print(json.dumps([path for path in json.loads(os.environ["PATHS"]) if opened(os.path.join(root, path))]))
"""


def run_in(
    code: str,
    folder: Path,
    environment: dict[str, str] | None = None,
    hidden: Sequence[Path] = (),
    files: Sequence[Path] = (),
) -> Any:
    """Return the JSON that code prints which runs as a worker in the sandbox."""
    own = folder / "workers" / "worker"
    own.mkdir(parents=True)
    command = [sys.executable, "-I", "-S", "-c", code]
    with launch(command, environment or {}, own, hidden, NOWHERE, files=files) as launched:
        done = subprocess.run(
            launched.command,
            env=dict(launched.environment),
            cwd=own,
            pass_fds=launched.descriptors,
            capture_output=True,
            timeout=60,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.usefixtures("sandbox")
def test_no_setting_of_the_kernel_can_be_written_and_root_is_another_user(tmp_path: Path) -> None:
    found = run_in(WRITABLE, tmp_path)
    assert found["writable"] == []
    owner = (tmp_path / "workers" / "worker" / "made").stat().st_uid
    assert owner == found["uid"] == (65534 if os.geteuid() == 0 else os.geteuid())


def run_freely(code: str, folder: Path) -> Any:
    return json.loads(subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=True).stdout)


@pytest.mark.usefixtures("sandbox")
def test_a_worker_cannot_slow_another_of_the_same_user(tmp_path: Path) -> None:
    assert run_freely(SCHEDULING, tmp_path)["other"]["sched_setaffinity"]
    found = run_in(SCHEDULING, tmp_path)
    assert not any(found["other"].values()), found
    assert found["own"]["sched_setaffinity"]
    assert found["own"]["ioprio_set"]


@pytest.mark.usefixtures("sandbox")
def test_of_a_readable_folder_all_is_seen_but_what_is_hidden_and_what_is_put_there_later(tmp_path: Path) -> None:
    package = tmp_path / "package"
    for name in ("package/code.py", "package/gold/answers.json", "package/other/code.py", "beside/code.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (package / "way_out").symlink_to(tmp_path / "beside")
    paths = ("code.py", "gold/answers.json", "other/code.py", "way_out/code.py")
    environment = {"ROOT": str(package), "PATHS": json.dumps(paths)}
    for place, (hidden, readable) in enumerate(
        [
            ([tmp_path / "store"], ["code.py", "gold/answers.json", "other/code.py"]),
            ([package / "gold"], ["code.py", "other/code.py"]),
            ([package / "gold", package / "later.db"], ["code.py", "other/code.py"]),
            ([package / "gold" / "answers.json"], ["code.py", "other/code.py"]),
        ]
    ):
        assert run_in(READABLE, tmp_path / str(place), environment, hidden, [package]) == readable, hidden


@pytest.mark.usefixtures("sandbox")
def test_home_and_temporary_files_are_the_workers_own_and_nothing_leads_to_the_users_programs(tmp_path: Path) -> None:
    given = {"PATH": "/usr/bin", "HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/1000", "SSH_AUTH_SOCK": "/run/agent"}
    given |= {"TRIALBED_STORE": "runs.db", "OMP_NUM_THREADS": "2"}
    environment = worker_environment("mark", given)
    found = run_in("import json, os; print(json.dumps(dict(os.environ)))", tmp_path, environment)
    assert found.keys() & given.keys() == {"PATH", "HOME", "OMP_NUM_THREADS"}
    assert found["TRIALBED_WORKER"] == "mark"
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        assert Path(found[name]).is_dir()
        assert Path(found[name]).is_relative_to(tmp_path / "workers" / "worker")


def test_a_hidden_folder_that_holds_what_the_worker_needs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"workers must not see {Path(sys.prefix).parent}, but need {sys.prefix}"):
        run_in("", tmp_path, hidden=[Path(sys.prefix).parent])


@pytest.mark.usefixtures("sandbox")
def test_a_server_must_have_an_address() -> None:
    for url in ("http://192.0.2.1:80", "http://localhost:8080", "http://[::1]:8080"):
        assert check_sandbox((), url)
    with pytest.raises(UsageError, match=r"workers cannot look up rig\.example; give the server's address"):
        check_sandbox((), "http://rig.example:8080")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root's workers run as another user")
def test_workers_of_root_without_its_rights_must_be_able_to_read_the_agent(tmp_path: Path) -> None:
    private = tmp_path / "home"
    private.mkdir(mode=0o700)
    (private / "agent.py").touch()
    code = """
import sys
from pathlib import Path
from trialbed_plugins.executors.sandbox import NOWHERE, launch
folder = Path(sys.argv[1])
with launch(["python"], {}, folder / "worker", (), NOWHERE, files=[folder / "home" / "agent.py"]):
    print("started")
"""
    capability = ("setpriv", "--bounding-set=-dac_read_search", "--inh-caps=-dac_read_search")
    for prefix, words in ((capability, "have Python, Trialbed and the agent outside of root's home"), ((), "started")):
        done = subprocess.run(
            [*prefix, sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert words in done.stdout + done.stderr


def lack_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: -1)


def lack_rules_for_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 3)


def lack_pyseccomp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 7)
    monkeypatch.setitem(sys.modules, "pyseccomp", None)


def be_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


@pytest.mark.parametrize(
    ("lack", "text"),
    [
        (lack_landlock, r".* has no Landlock, or it is switched off; use Linux 6\.7 or later"),
        (lack_rules_for_the_network, r".* has Landlock ABI 3; use Linux 6\.7 or later"),
        (lack_pyseccomp, r"pyseccomp is not installed; install it: pip install .*\[sandbox\]"),
        (be_another_system, r"this is .*; use Linux on x86_64 or aarch64"),
    ],
)
def test_what_the_sandbox_lacks_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, lack: Any, text: str) -> None:
    lack(monkeypatch)
    with pytest.raises(SandboxUnavailable, match=f"--sandbox: {text}"):
        check_sandbox()
