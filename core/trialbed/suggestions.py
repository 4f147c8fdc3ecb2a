"""Suggest a name for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is probably meant, or None if no name is close.

    Args:
        cutoff: the least similarity in [0, 1], as in ``difflib``; the beginning of a name counts as similar.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=cutoff)
    begun = [candidate for candidate in names if len(name) >= 3 and candidate.startswith(name)]
    return next(iter([*close, *begun]), None)


def did_you_mean(suggestion: str | None) -> str:
    """Return the end of a sentence that refuses a name, with the suggestion if there is one."""
    return f"; did you mean {suggestion!r}?" if suggestion else "."


def close_file(path: Path, ending: str = "") -> str:
    """Return the end of a sentence that refuses a missing file, with a file of its folder that may be meant."""
    try:
        names = [file.name for file in path.parent.iterdir() if file.name.endswith(ending) and file.is_file()]
    except OSError:
        names = []
    return did_you_mean(closest(path.name, names))
