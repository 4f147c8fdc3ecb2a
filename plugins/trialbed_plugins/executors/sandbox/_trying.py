"""Tries a sandbox on this machine."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from trialbed.contracts import Sandbox
from trialbed.errors import SandboxUnavailable
from trialbed.installed import extra_command
from trialbed_plugins.executors.sandbox._container import find_bubblewrap
from trialbed_plugins.executors.sandbox._launch import Launch, launch
from trialbed_plugins.executors.sandbox._server import CONTAINER, PROCESS, ServerAddress

LANDLOCK_CREATE_RULESET, ASK_FOR_ABI, NETWORK_ABI = 444, 1, 4
ARCHITECTURES = ("x86_64", "aarch64")
NOWHERE = ServerAddress("127.0.0.1", 65535)
LIMIT = 60
"""Seconds in which an empty worker must have ended."""


def check_sandbox(sandbox: Sandbox) -> tuple[str, ...]:
    """Start this interpreter in a sandbox; returns the mechanisms that hold.

    Raises:
        SandboxUnavailable: it cannot be made here; names the missing part and how to get it.
    """
    _find_parts(sandbox.mode)
    with tempfile.TemporaryDirectory(prefix="trialbed-") as parent:
        folder = Path(parent, "worker")
        folder.mkdir()
        command = [sys.executable, "-I", "-S", "-c", "pass"]
        with launch(command, {}, folder, sandbox, NOWHERE) as launched:
            return _try(sandbox.mode, launched, folder)


def _try(mode: str, launched: Launch, folder: Path) -> tuple[str, ...]:
    done = subprocess.run(
        launched.command,
        env=dict(launched.environment),
        cwd=folder,
        pass_fds=launched.descriptors,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        text=True,
    )
    held = launched.held()
    if done.returncode != 0 or not held:
        reason = done.stderr.strip().removeprefix(f"--sandbox {mode}: ") or f"exit code {done.returncode}"
        raise SandboxUnavailable(mode, f"a worker cannot be started in it here ({reason})", _REMEDIES[mode])
    return held


def _find_parts(mode: str) -> None:
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        raise SandboxUnavailable(
            mode, f"this is {platform.system()} on {platform.machine()}", f"use Linux on {' or '.join(ARCHITECTURES)}"
        )
    if mode == CONTAINER:
        find_bubblewrap()
        return
    abi = landlock_abi()
    if abi < NETWORK_ABI:
        found = f"has Landlock ABI {abi}" if abi > 0 else "has no Landlock, or it is switched off"
        raise SandboxUnavailable(
            mode,
            f"this kernel ({platform.release()}) {found}",
            f"use Linux 6.7 or later with landlock in its lsm= parameter (ABI {NETWORK_ABI}), or --sandbox container",
        )
    try:
        import pyseccomp  # noqa: F401
    except ImportError:
        raise SandboxUnavailable(
            mode, "pyseccomp is not installed", f"install it: {extra_command('sandbox')}"
        ) from None
    except RuntimeError as error:
        raise SandboxUnavailable(
            mode, f"pyseccomp cannot be used: {error}", "install libseccomp, for example `apt install libseccomp2`"
        ) from None


def landlock_abi() -> int:
    """The ABI of the kernel's Landlock; not positive if there is none."""
    return int(ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ASK_FOR_ABI))


_REMEDIES = {
    PROCESS: "use --sandbox container, or run as a user who can read the interpreter",
    CONTAINER: (
        "see that user namespaces are on (sysctl user.max_user_namespaces; on Ubuntu also "
        "kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt seccomp=unconfined "
        "--security-opt systempaths=unconfined), or use --sandbox process"
    ),
}
