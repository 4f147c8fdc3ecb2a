from __future__ import annotations

import shutil
import sys

import pytest

from trialbed.contracts import Sandbox
from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.sandbox import _trying, check_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes need Linux")


@pytest.mark.parametrize("mode", ["process", "container"])
def test_another_system_is_named(monkeypatch, mode):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match=rf"--sandbox {mode}: this is .*; use Linux on x86_64 or aarch64"):
        check_sandbox(Sandbox(mode))


def test_bubblewrap_that_is_missing_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match=r"bubblewrap is not installed; .*apt install bubblewrap"):
        check_sandbox(Sandbox("container"))


@pytest.mark.parametrize(("abi", "text"), [(-1, "has no Landlock, or it is switched off"), (3, "has Landlock ABI 3")])
def test_a_kernel_without_landlock_for_the_network_is_named(monkeypatch, abi, text):
    monkeypatch.setattr(_trying, "landlock_abi", lambda: abi)
    with pytest.raises(SandboxUnavailable, match=rf"{text}.*use Linux 6\.7 or later"):
        check_sandbox(Sandbox("process"))


def test_pyseccomp_that_is_missing_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setattr(_trying, "landlock_abi", lambda: 7)
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(SandboxUnavailable, match=r"pyseccomp is not installed.*pip install .*\[sandbox\]"):
        check_sandbox(Sandbox("process"))


def test_the_reason_of_bubblewrap_is_given(monkeypatch, tmp_path):
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(refusing))
    with pytest.raises(SandboxUnavailable, match=r"\(bwrap: No permissions.*user namespaces are on"):
        check_sandbox(Sandbox("container"))
