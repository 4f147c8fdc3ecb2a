"""The values of a response that an answer can be checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from trialbed.identity import once_for
from trialbed.texts import json_leaves
from trialbed.wire import lenient_json

MIN_TEXT = 3
MAX_TEXT = 200
MAX_PAGE = 4000
"""Characters that are kept of a response that is a single text."""


def evidence_values(response: Any) -> tuple[str, ...]:
    """Return the distinctive leaf values of a response, in document order, each once, as text.

    Distinctive are texts of 3 to 200 characters and numbers of at least two digits; booleans, nulls and keys are not. A
    response that is JSON in a text is read. Do not change a response after its values were read.
    """
    # A response that is not a text is read once for all scores of its trial.
    return _values_of(response) if isinstance(response, dict | list) else _leaves(_parse(response))


def every_value(response: Any) -> tuple[str, ...]:
    """Return the distinctive leaf values of a response, and behind them its short texts and numbers, each once.

    A response that is a single value is that value, be it ``7``, ``true`` or a page of text.
    """
    parsed = _parse(response)
    if isinstance(parsed, dict | list):
        return tuple(dict.fromkeys([*_leaves(parsed), *_short_leaves(parsed)]))
    text = "" if parsed is None else _as_text(parsed)
    if text[:1] in ("{", "["):  # an object that is cut off, or not written as JSON
        return evidence_values(text)
    return () if text in ("", "null") else (text[:MAX_PAGE],)


def short_values(response: Any) -> tuple[str, ...]:
    """Return the short texts and numbers of a response that say too little to be evidence, without duplicates."""
    return tuple(dict.fromkeys(_short_leaves(_parse(response))))


def _short_leaves(value: Any) -> Iterator[str]:
    for leaf in json_leaves(value):
        if leaf is not None and not isinstance(leaf, bool):
            text = _as_text(leaf)
            if text and len(text) < MIN_TEXT:
                yield text


def _as_text(leaf: str | float) -> str:
    return " ".join(leaf.split()) if isinstance(leaf, str) else json.dumps(leaf)


def _parse(response: Any) -> Any:
    if isinstance(response, str) and response.lstrip()[:1] in ("{", "["):
        return lenient_json(response, response)
    return response


def _leaves(response: Any) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for leaf in json_leaves(response):
        text = " ".join(leaf.split()) if isinstance(leaf, str) else ""
        # Numbers of at least two digits, as JSON writes them: 0.5 has two.
        if isfinite(leaf) if isinstance(leaf, float) else type(leaf) is int and abs(leaf) > 9:
            found[repr(leaf)] = None
        elif MIN_TEXT <= len(text) <= MAX_TEXT:
            found[text] = None
    return tuple(found)


_values_of = once_for(16)(_leaves)
