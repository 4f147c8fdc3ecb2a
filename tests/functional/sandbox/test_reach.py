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
    found = await snoop("none", *attempts)
    assert reached(found, "none") == found
    assert found["store"] == found["keys"] == "a-secret-of-the-run"
    assert snoop.held == ()
    assert the_store(snoop) == ("forged", 0o600)


async def test_a_sandbox_leaves_nothing_but_the_server(sandbox, snoop):
    found = await snoop(sandbox, *FILES, *PROCESSES, *NETWORK, "raw_socket", *ALLOWED)
    assert reached(found, sandbox) == {"the_server": "what the network has", "its_own_folder": "fine\n"}
    assert the_store(snoop) == ("a-secret-of-the-run", 0o644)


async def test_what_held_is_told(sandbox, snoop):
    await snoop(sandbox, "the_server")
    expected = {"process": ["Landlock ABI", "seccomp"], "container": ["bubblewrap", "namespaces user, mnt, net, pid"]}
    for mechanism in ("no_new_privs", "uid ", *expected[sandbox]):
        assert any(text.startswith(mechanism) for text in snoop.held), (mechanism, snoop.held)
    if os.geteuid() == 0:
        assert "uid 65534" in snoop.held
