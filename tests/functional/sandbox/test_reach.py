"""What an adapter reaches in a sandbox, and that it would reach all of it without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.snooping import ALLOWED, FILES, NETWORK, PROCESSES, reached

pytestmark = [pytest.mark.usefixtures("snooping_adapter")]


def the_store(snoop):
    """The content of the user's store and its mode."""
    path = Path(snoop.places["store"])
    return path.read_text(), path.stat().st_mode & 0o777


async def test_without_a_sandbox_an_adapter_gets_everything(snoop, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    # What a kernel without TCP Fast Open refuses shows nothing.
    attempts = [name for name in (*FILES, *PROCESSES, *NETWORK, *ALLOWED) if name != "other_port_by_fast_open"]
    found = await snoop(*attempts, sandbox=False)
    assert reached(found) == found
    assert found["store"] == found["keys"] == "a-secret-of-the-run"
    assert snoop.held == ()
    assert the_store(snoop) == ("forged", 0o600)


@pytest.mark.usefixtures("sandbox")
async def test_a_sandbox_leaves_nothing_but_the_server(snoop):
    found = await snoop(*FILES, *PROCESSES, *NETWORK, "raw_socket", *ALLOWED)
    assert reached(found) == {"the_server": "what the network has", "its_own_folder": "fine\n"}
    assert the_store(snoop) == ("a-secret-of-the-run", 0o644)
    assert [text.partition(" ABI")[0] for text in snoop.held[:3]] == ["no_new_privs", "Landlock", "seccomp"]
    assert "uid 65534" in snoop.held or os.geteuid() != 0
