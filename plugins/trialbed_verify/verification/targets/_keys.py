"""Where a vendor's key comes from: the environment, and a file only where nobody can commit it by accident."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from trialbed.errors import UsageError

PLACEHOLDER = re.compile(r"x+|\.+|\*+|<.*>|your.*", re.IGNORECASE)
"""What examples have in the place of a key."""


def vendor_key(name: str, variable: str, environment: Mapping[str, str]) -> str | None:
    """The key of a vendor from the environment (``.env`` included).

    Args:
        name: the vendor's; ``siliconflow``, ``SILICONFLOW`` and ``SILICONFLOW_API_KEY`` are looked at.
        variable: where its driver expects it, if it says.
    """
    return next((value for spelling in spellings(name, variable) if (value := environment.get(spelling))), None)


def spellings(name: str, variable: str = "") -> Iterator[str]:
    """The variables that are looked at, in order."""
    upper = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    yield from dict.fromkeys(filter(None, (name, upper, f"{upper}_API_KEY", variable)))


def key_from_file(path: Path, line: int, key: str, name: str) -> str | None:
    """The key that a configuration file holds; None for a placeholder.

    Raises:
        UsageError: the file is one that git would commit; says which line, and where the key belongs.
    """
    if PLACEHOLDER.fullmatch(key.strip()):
        return None
    if would_be_committed(path):
        raise UsageError(
            f"{path}, line {line}: holds a key, and git does not ignore this file; "
            f"move the key to .env as {name}=…, or ignore the file"
        )
    return key


def would_be_committed(path: Path) -> bool:
    """Whether the file is in a git work tree and not ignored there; what a link leads to counts.

    Where git cannot be asked, or does not tell for want of trust in the owner, every file of a work tree counts.
    """
    real = path.resolve()
    if _git(real, "rev-parse", "--is-inside-work-tree") == 0:
        return _git(real, "check-ignore", "-q", real.name) != 0
    return any((folder / ".git").exists() for folder in real.parents)


def _git(path: Path, *arguments: str) -> int | None:
    """Git's exit code in the file's folder; None if it did not run to its end."""
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
