"""How much memory a model takes, and whether this machine has it."""

from __future__ import annotations

from pathlib import Path

from trialbed.errors import UsageError

OVERHEAD = 256 * 2**20
"""Bytes that llama.cpp takes beside weights and context."""

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux says how much memory a container may use."""

GIB = 2**30


def check_memory(title: str, weights: int, context: int, *, free: int | None = None) -> None:
    """See that a model fits into the memory that is free: one that does not ends in hours of swapping, or is killed.

    Args:
        title: the model's name.
        weights: their bytes. ``context``: those of its context.
        free: bytes; None to look.

    Raises:
        UsageError: it does not fit.
    """
    needed = weights + context + OVERHEAD
    free = free_memory() if free is None else free
    if needed > free:
        raise UsageError(
            f"{title} needs about {needed / GIB:.1f} GiB of memory, and {free / GIB:.1f} GiB are free: end other "
            "programs, or take a smaller model"
        )


def free_memory(folder: Path = CGROUP) -> int:
    """Bytes that a new program can have, on this machine and in this container."""
    import psutil

    free = int(psutil.virtual_memory().available)
    most, used = _most(folder / "memory.max"), _in_use(folder / "memory.stat")
    return free if most is None or used is None else max(0, min(free, most - used))


def _most(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no cgroup of version 2, or "max"
        return None


def _in_use(path: Path) -> int | None:
    """Bytes in use without those of files, which the system takes back when they are needed."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return next((int(line.removeprefix("anon ")) for line in lines if line.startswith("anon ")), None)
    except (OSError, ValueError):
        return None
