"""The environment of a sandboxed worker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
}
"""Variable -> the folder below the worker's own that it names."""

PLACES = ("PWD", "OLDPWD", "TEMP", "TMP", "XDG_RUNTIME_DIR")
SOCKETS = ("DBUS_", "DISPLAY", "DOCKER_", "GPG_", "SSH_", "WAYLAND_")
"""Prefixes of the variables that lead to the user's other programs."""

OWN = "TRIALBED_"
MARK = "TRIALBED_WORKER"


def sandboxed_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with the worker's own folder as home and for temporary files and caches.

    Variables that say where Trialbed keeps things, or that lead to other programs of the user, are left out.
    """
    kept = {name: value for name, value in environment.items() if name == MARK or not _leads_out(name)}
    # Packages cannot be written to, so Python need not try to keep bytecode there.
    return kept | {name: str(folder / place) for name, place in FOLDERS.items()} | {"PYTHONDONTWRITEBYTECODE": "1"}


def make_folders(folder: Path) -> None:
    """Make the folders that the environment names."""
    for place in FOLDERS.values():
        (folder / place).mkdir(parents=True, exist_ok=True)


def _leads_out(name: str) -> bool:
    return name in PLACES or name.startswith((OWN, *SOCKETS))
