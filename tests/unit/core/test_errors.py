"""The error tree: complete, drawn, and each with an exit code."""

from __future__ import annotations

import inspect
import re

from trialbed import errors
from trialbed.errors import TrialbedError

CLASSES = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}
LINE = re.compile(r"^([ │├└─]*)([A-Z]\w+)")


def drawn() -> dict[str, str | None]:
    """Each class of the drawing, with the class above it."""
    parents: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = LINE.match(line.strip().removeprefix("::"))
        if not found or found.group(2) not in CLASSES:
            continue
        depth = len(found.group(1))
        above = [pair for pair in above if pair[0] < depth]
        parents[found.group(2)] = above[-1][1] if above else None
        above.append((depth, found.group(2)))
    return parents


def test_all_names_are_public_and_sorted() -> None:
    assert errors.__all__ == sorted(CLASSES)


def test_the_drawing_is_the_tree() -> None:
    real = {name: value.__base__.__name__ if value is not TrialbedError else None for name, value in CLASSES.items()}
    assert drawn() == real


def test_every_error_has_an_exit_code_and_a_description() -> None:
    for name, error in CLASSES.items():
        assert error.exit_code in (2, 3), name
        assert error.__doc__, name
