"""Regular expressions that come from users and from files, matched in bounded time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trialbed.errors import UsageError

SECONDS = 0.5
"""For one match. Some patterns take a time that is exponential in the length of the text."""


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return the pattern, ready to match.

    Raises:
        ValueError: it is not a regular expression.
    """
    # Python's own expressions have no time limit; and few rules are patterns, so that this is imported late.
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the whole text matches the pattern.

    Raises:
        UsageError: the pattern is not a regular expression, or takes too long.
    """
    try:
        return compile_pattern(pattern).fullmatch(text, timeout=SECONDS) is not None
    except ValueError as error:
        raise UsageError(f"{pattern!r:.200} is not a regular expression: {error}") from None
    except TimeoutError:
        raise UsageError(
            f"the regular expression {pattern!r:.200} was stopped after {SECONDS:g} s on {text!r:.80}; simplify it"
        ) from None
