"""The text of a lock."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.environments import lock_digest, lock_text, read_lock
from trialbed.environments._store import locked_version, requirements
from trialbed.errors import DataError
from trialbed.records import Environment


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


def test_the_digest_is_the_one_that_a_run_records() -> None:
    text = lock_text(["acme==1.0"])
    assert lock_digest(text) == Environment(python="python", lock=text).lock_digest


def test_credentials_stay_out() -> None:
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


def test_versions_are_found_by_any_spelling_of_the_name() -> None:
    text = lock_text(["autogen-agentchat==0.7.5", "x @ https://host/x.whl"])
    assert locked_version(text, "AutoGen_AgentChat") == "0.7.5"
    assert locked_version(text, "x") is None
    assert locked_version(text, "absent") is None
    assert len(requirements(text)) == 2
