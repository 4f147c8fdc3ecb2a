"""Keys of vendors: from the environment, or from a file that git does not commit."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.settings import is_secret

PLACEHOLDER = re.compile(r"x+|\.+|\*+|<.*>|your.*", re.IGNORECASE)
"""A placeholder for a key, as in examples."""

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header name that HTTP allows."""

KEY = re.compile(r"[\x21-\x7e]+")
"""A key that can be sent in a header."""


def checked_key(key: str, where: str) -> str:
    """The key, stripped.

    Args:
        where: the option or file that names it, for messages.

    Raises:
        UsageError: it cannot be sent in a header. The message does not show it.
    """
    stripped = key.strip()
    if KEY.fullmatch(stripped) is None:
        raise UsageError(f"{where}: the key is empty or contains characters that a key cannot have (it is not shown)")
    return stripped


def is_secret_header(name: str) -> bool:
    """Return whether a header of this name carries a key or a login."""
    return "authorization" in name.lower() or is_secret(name.replace("-", "_"))


def vendor_key(name: str, variable: str, environment: Mapping[str, str]) -> str | None:
    """The key of a vendor from the environment, ``.env`` included.

    Args:
        name: the vendor's; ``siliconflow``, ``SILICONFLOW`` and ``SILICONFLOW_API_KEY`` are looked up.
        variable: the one that its driver names, if any.
    """
    return next((value for each in key_variables(name, variable) if (value := environment.get(each))), None)


def key_variables(name: str, variable: str = "") -> Iterator[str]:
    """The variables that are looked up, in order."""
    upper = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    yield from dict.fromkeys(filter(None, (name, upper, f"{upper}_API_KEY", variable)))


def key_from_file(path: Path, line: int, key: str, name: str) -> str | None:
    """The key in a configuration file; None for a placeholder.

    Raises:
        UsageError: git would commit the file.
    """
    if PLACEHOLDER.fullmatch(key.strip()):
        return None
    if would_be_committed(path):
        raise UsageError(
            f"{path}, line {line}: contains a key, and git does not ignore this file; "
            f"move the key to .env as {name}=…, or add the file to .gitignore"
        )
    return key


def would_be_committed(path: Path) -> bool:
    """Return whether the file is in a git work tree and not ignored there; symbolic links are followed.

    If git is not installed, or does not trust the owner of the work tree, every file in a work tree counts.
    """
    real = path.resolve()
    if _git(real, "rev-parse", "--is-inside-work-tree") == 0:
        return _git(real, "check-ignore", "-q", real.name) != 0
    return any((folder / ".git").exists() for folder in real.parents)


def _git(path: Path, *arguments: str) -> int | None:
    """Git's exit code in the file's folder; None if it could not run or timed out."""
    command = ["git", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode
    except (OSError, subprocess.TimeoutExpired):
        return None
