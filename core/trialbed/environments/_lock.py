"""The text of a lock: a requirements file in which every line is exact, and which says what it was made for."""

from __future__ import annotations

import hashlib
import platform
import re
import sysconfig
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from trialbed.environments._secrecy import without_credentials
from trialbed.environments._sources import states
from trialbed.errors import DataError

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;*]+)(?:\s+--hash=\S+)*")
_DIRECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?\s*@\s*\S+")
_EDITABLE = re.compile(r"-e\s+file:\S+")


def python_id() -> str:
    """The interpreter that locks are made for: this one."""
    return f"{platform.python_implementation()} {platform.python_version()} on {sysconfig.get_platform()}"


def lock_text(lines: Iterable[str]) -> str:
    """A lock of these exact requirements, for this interpreter and the present state of what is local."""
    exact = [without_credentials(line) for line in lines]
    return "\n".join([f"# {python_id()}", *states(exact), *exact, ""])


def lock_digest(text: str) -> str:
    """SHA-256 of a lock; also the name of its environment."""
    return hashlib.sha256(text.encode()).hexdigest()


def requirements(text: str) -> tuple[str, ...]:
    """The requirements of a lock, without comments, each on one line."""
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    return tuple(line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#"))


def read_lock(text: str, source: str) -> tuple[str, ...]:
    """The requirements of somebody's lock.

    Raises:
        DataError: a line is not exact; names the source and the line.
    """
    lines = tuple(re.sub(r"\s+#\s.*$", "", line) for line in requirements(text))
    for line in lines:
        if not any(form.fullmatch(line) for form in (_PINNED, _DIRECT, _EDITABLE)):
            raise DataError(
                f"{source}: {without_credentials(line)!r} is no line of a lock: each must be NAME==VERSION, NAME @ URL "
                "or -e file:URL; indexes are named by UV_DEFAULT_INDEX and UV_INDEX"
            )
    if not lines:
        raise DataError(f"{source}: there is nothing in this lock; `bench env lock NAME --output FILE` writes one")
    return lines


def locked_version(text: str, package: str) -> str | None:
    """The version of a package in a lock; None if it is not there or comes from a URL."""
    found = (_PINNED.fullmatch(line) for line in requirements(text))
    wanted = canonicalize_name(package)
    return next((match["version"] for match in found if match and canonicalize_name(match["name"]) == wanted), None)
