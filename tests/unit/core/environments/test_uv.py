"""Running uv, here a script that writes what it was asked, and the reasons of its failures as users read them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from trialbed.environments import Uv, _build, find_uv
from trialbed.environments._build import MAX_LENGTH, UvFailed, failure_reason
from trialbed.errors import EnvironmentFailed

FakeUv = Callable[[str], Uv]


@pytest.fixture
def fake_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeUv:
    """A uv that runs this Python code."""

    def make(code: str) -> Uv:
        script = tmp_path / "uv"
        script.write_text(f"#!{sys.executable}\nimport os, sys, time\nargs = sys.argv[1:]\n{code}\n")
        script.chmod(0o755)
        monkeypatch.setattr(_build, "find_uv", lambda: str(script))
        return Uv(tmp_path)

    return make


async def test_it_gets_its_arguments_and_input_and_gives_its_output(fake_uv: FakeUv) -> None:
    uv = fake_uv("print(args[-1], sys.stdin.read())")
    assert await uv("pip", "compile", "-", stdin="acme") == "- acme\n"


async def test_variables_that_lead_it_astray_are_kept_from_it(fake_uv: FakeUv, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("VIRTUAL_ENV", "PYTHONPATH", "UV_SYSTEM_PYTHON", "UV_INDEX")
    for name in names:
        monkeypatch.setenv(name, "1")
    uv = fake_uv(f"print([name for name in {names} if name in os.environ])")
    assert await uv() == "['UV_INDEX']\n"


async def test_it_gets_the_passwords_of_indexes_and_proxies_but_no_other_key(
    fake_uv: FakeUv, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("OPENAI_API_KEY", "GH_TOKEN", "SLACK_WEBHOOK_URL", "UV_INDEX_ACME_PASSWORD", "HTTPS_PROXY")
    for name in names:
        monkeypatch.setenv(name, "http://me:word@proxy")
    uv = fake_uv(f"print([name for name in {names} if name in os.environ])")
    assert await uv() == "['UV_INDEX_ACME_PASSWORD', 'HTTPS_PROXY']\n"


async def test_an_error_has_its_words(fake_uv: FakeUv) -> None:
    uv = fake_uv("print('error: it is broken', file=sys.stderr); sys.exit(1)")
    with pytest.raises(UvFailed, match=r"^it is broken$"):
        await uv("pip", "check")


async def test_giving_up_ends_it_and_what_it_started(fake_uv: FakeUv, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    uv = fake_uv(
        "import subprocess\nchild = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "open('pids', 'w').write(f'{os.getpid()} {child.pid}')\ntime.sleep(60)"
    )
    task = asyncio.create_task(uv("pip", "install"))
    pids = await asyncio.to_thread((tmp_path / "pids").read_text)
    processes = [psutil.Process(int(pid)) for pid in pids.split()]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_the_packages_own_uv_is_found() -> None:
    found = find_uv()
    assert found is not None
    assert os.access(found, os.X_OK)


def test_no_uv_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_build, "find_uv", lambda: None)
    with pytest.raises(EnvironmentFailed, match="pip install uv"):
        Uv(tmp_path)


BOXED = """\
  \u00d7 No solution found when resolving dependencies:
  \u2570\u2500\u25b6 Because left==1.0 depends on shared<2 and right==1.0 depends on
      shared>=2, we can conclude that left==1.0 and right==1.0 are
      incompatible.

      hint: Pre-releases are available
"""
LISTED = """\
error: Request failed after 3 retries in 6.5s
  cause: Failed to fetch: http://127.0.0.1:9/simple/langgraph/
  cause: client error (Connect)
  cause: Connection refused (os error 111)
"""


def test_a_box_becomes_sentences() -> None:
    assert failure_reason(BOXED) == (
        "No solution found when resolving dependencies: Because left==1.0 depends on shared<2 and right==1.0 depends "
        "on shared>=2, we can conclude that left==1.0 and right==1.0 are incompatible. hint: Pre-releases are "
        "available"
    )


def test_a_list_of_causes_becomes_one_sentence() -> None:
    assert failure_reason(LISTED) == (
        "Request failed after 3 retries in 6.5s cause: Failed to fetch: http://127.0.0.1:9/simple/langgraph/ "
        "cause: client error (Connect) cause: Connection refused (os error 111)"
    )


def test_secrets_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "abcdefghijkl")
    told = failure_reason(
        "error: Failed to fetch https://me:hunter2222@host/x and https://tok@host/y with abcdefghijkl"
    )
    assert told == ("Failed to fetch https://[redacted]@host/x and https://[redacted]@host/y with [redacted]")


def test_a_long_reason_is_cut_in_the_middle() -> None:
    told = failure_reason(f"error: begin {'x' * 5000} end")
    assert len(told) < MAX_LENGTH + 10
    assert told.startswith("begin")
    assert told.endswith("end")


def test_silence_is_said() -> None:
    assert failure_reason("\n") == "uv gave no reason"
