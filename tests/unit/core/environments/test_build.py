"""Building environments: requirements and locks, and uv, here a script, with its failures as users read them."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.environments import (
    BuildRequest,
    EnvironmentStore,
    FrameworkSpec,
    Uv,
    failure_reason,
    lock_text,
    locked_environment,
    locked_version,
    provide,
    read_lock,
    read_requirement,
)
from trialbed.errors import DataError, EnvironmentFailed, UsageError

FakeUv = Callable[[str], Uv]


@pytest.fixture
def fake_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeUv:
    """A uv that runs this Python code."""

    def make(code: str) -> Uv:
        script = tmp_path / "uv"
        script.write_text(f"#!{sys.executable}\nimport os, sys, time\nargs = sys.argv[1:]\n{code}\n")
        script.chmod(0o755)
        monkeypatch.setattr("trialbed.environments._build.find_uv", lambda: str(script))
        return Uv(tmp_path)

    return make


async def test_uv_gets_what_indexes_need_and_neither_keys_nor_what_leads_it_astray(
    fake_uv: FakeUv, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("UV_INDEX", "UV_INDEX_ACME_PASSWORD", "HTTPS_PROXY")
    astray = ("VIRTUAL_ENV", "PYTHONPATH", "UV_SYSTEM_PYTHON")
    names = (*astray, "OPENAI_API_KEY", "GH_TOKEN", "SLACK_WEBHOOK_URL", *kept)
    for name in names:
        monkeypatch.setenv(name, "http://me:word@proxy")
    uv = fake_uv(f"print([name for name in {names} if name in os.environ])")
    assert await uv() == f"{[*kept]}\n"


BOXED = """\
  \u00d7 No solution found when resolving dependencies:
  \u2570\u2500\u25b6 Because left==1.0 depends on shared<2 and right==1.0 depends on
      shared>=2, we can conclude that left==1.0 and right==1.0 are
      incompatible.

      hint: Pre-releases are available
"""


def test_a_failure_of_uv_is_told_in_sentences_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure_reason(BOXED) == (
        "No solution found when resolving dependencies: Because left==1.0 depends on shared<2 and right==1.0 depends "
        "on shared>=2, we can conclude that left==1.0 and right==1.0 are incompatible. hint: Pre-releases are "
        "available"
    )
    monkeypatch.setenv("SOME_TOKEN", "abcdefghijkl")
    told = failure_reason(
        "error: Failed to fetch https://me:hunter2222@host/x and https://tok@host/y with abcdefghijkl"
    )
    assert told == "Failed to fetch https://[redacted]@host/x and https://[redacted]@host/y with [redacted]"
    told = failure_reason(f"error: begin {'x' * 5000} end")
    assert (len(told) < 2000, told[:5], told[-3:]) == (True, "begin", "end")


FULL = r"""
if "compile" in args:
    print("acme==1.0")
elif "install" in args:
    print("error: failed to write `x`\n  cause: No space left on device (os error 28)", file=sys.stderr)
    sys.exit(2)
"""


async def test_a_full_disk_is_told_with_what_to_do_for_each_framework_and_leaves_nothing(
    fake_uv: FakeUv, tmp_path: Path
) -> None:
    fake_uv(FULL)
    (tmp_path / "environments").mkdir()
    store = EnvironmentStore(tmp_path / "environments")
    with pytest.raises(EnvironmentFailed) as caught:
        await provide(store, [BuildRequest(FrameworkSpec.parse(name)) for name in ("acme", "crewai")])
    for text in ("acme: its environment cannot be built", "crewai: its env", "No space left on device", "--env-dir"):
        assert text in str(caught.value)
    assert list(store) == []
    assert list((store.folder / ".unfinished").iterdir()) == []


async def test_a_folder_of_the_machine_that_made_a_lock_is_named(tmp_path: Path) -> None:
    lock = f"crewai==1.0\ntrialbed @ {(tmp_path / 'checkout').as_uri()}\n"
    with pytest.raises(EnvironmentFailed, match=r"crewai: its lock names .*checkout, which is not on this machine"):
        await locked_environment("crewai", lock, EnvironmentStore(tmp_path / "environments"))
    assert not (tmp_path / "environments").exists()


def test_a_lock_says_what_it_was_made_for_and_is_read_back(tmp_path: Path) -> None:
    wheel = tmp_path / "acme-1.0-py3-none-any.whl"
    wheel.write_bytes(b"")
    hashes = "--hash=sha256:ab --hash=sha256:cd"
    lines = (f"Acme_Tools==1.0 {hashes}", f"acme @ {wheel.as_uri()} --hash=sha256:ef", "other[x]==2.0+cpu")
    text = lock_text(lines)
    assert platform.python_version() in text.splitlines()[0]
    assert f"# {wheel.as_uri()}: sha256 " in text
    assert "Acme_Tools==1.0 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n" in text
    assert read_lock(text, "file") == lines
    assert lock_text(read_lock(text, "file")) == text


def test_credentials_stay_out_of_a_lock() -> None:
    lines = ["a @ https://me:secret@host/a.whl", "b @ https://token@host/b.whl", "c @ git+ssh://git@host/c@abc"]
    text = lock_text(lines)
    assert "secret" not in text
    assert "token" not in text
    assert "a @ https://host/a.whl" in text
    assert "c @ git+ssh://git@host/c@abc" in text


def test_locks_of_other_tools_are_understood() -> None:
    text = "# made by hand\nacme==1.0 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\nb==2  # via acme\n\n"
    assert read_lock(text, "file") == ("acme==1.0 --hash=sha256:ab --hash=sha256:cd", "b==2")
    assert locked_version(text, "acme") == "1.0"


@for_each("line", ["acme", "acme>=1", "acme==1.*,<2 ; x", "-r other.txt", "--index-url https://x", "./a"])
def test_a_line_that_is_not_exact_is_named(line: str) -> None:
    with pytest.raises(DataError, match=r"some\.lock: .*is not allowed in a lock"):
        read_lock(f"good==1\n{line}\n", "some.lock")


def test_requirements_are_taken_as_they_are_and_paths_become_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my adapter").mkdir()
    (tmp_path / "a-1-py3-none-any.whl").write_text("")
    url = f"{tmp_path.as_uri()}/my%20adapter"
    same = ("trialbed-acme==1.0", "trialbed-acme>=1,<2", "a @ https://host/a.whl", "git+https://h/r@c")
    found = {f" {text} ": text for text in same} | {"./my adapter": url, "-e my adapter": f"-e {url}"}
    for text, expected in (found | {"a-1-py3-none-any.whl": f"{tmp_path.as_uri()}/a-1-py3-none-any.whl"}).items():
        assert read_requirement(text) == expected
    for text in ("-e absent", "a\nb", "--index-url"):
        with pytest.raises(UsageError, match="--adapter"):
            read_requirement(text)
