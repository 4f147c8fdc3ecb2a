"""Lockfiles: requirements files in which every line is exact, with a note of what they were made for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from trialbed.environments._requirements import local_states, python_id, without_credentials
from trialbed.errors import DataError

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;*]+)(?:\s+--hash=\S+)*")
_DIRECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*@\s*\S+")
_EDITABLE = re.compile(r"-e\s+file:\S+")


def lock_text(lines: Iterable[str]) -> str:
    """The lock of these exact requirements, for this interpreter and the present state of local files and folders."""
    exact = [without_credentials(line) for line in lines]
    return "\n".join([f"# {python_id()}", *local_states(exact), *exact, ""])


def lock_digest(text: str) -> str:
    """SHA-256 of a lock; its first digits are part of the environment's name."""
    return hashlib.sha256(text.encode()).hexdigest()


def requirements(text: str) -> tuple[str, ...]:
    """The requirements of a lock, without comments, each on one line."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    return tuple(line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#"))


def read_lock(text: str, source: str) -> tuple[str, ...]:
    """The requirements of a lock that a user gives.

    Raises:
        DataError: a line is not exact; names the source and the line.
    """
    lines = tuple(re.sub(r"\s+#\s.*$", "", line) for line in requirements(text))
    for line in lines:
        if not any(form.fullmatch(line) for form in (_PINNED, _DIRECT, _EDITABLE)):
            raise DataError(
                f"{source}: {without_credentials(line)!r} is not allowed in a lock: each line must be NAME==VERSION, "
                "NAME @ URL or -e file:URL; indexes are set by UV_DEFAULT_INDEX and UV_INDEX"
            )
    if not lines:
        raise DataError(f"{source}: this lock is empty; `bench env lock NAME --output FILE` writes one")
    return lines


def locked_version(text: str, package: str) -> str | None:
    """The version of a package in a lock; None if the package is not in it or comes from a URL."""
    found = (_PINNED.fullmatch(line) for line in requirements(text))
    wanted = canonicalize_name(package)
    return next((match["version"] for match in found if match and canonicalize_name(match["name"]) == wanted), None)
