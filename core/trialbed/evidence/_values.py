"""The values of a response that an answer can be checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from trialbed.texts import json_leaves

MIN_TEXT = 3
MAX_TEXT = 200


def evidence_values(response: Any) -> tuple[str, ...]:
    """Return the distinctive leaf values of a response, in document order, each once, as text.

    Distinctive are texts of 3 to 200 characters and numbers of at least two digits; booleans, nulls and
    keys are not. A response that is JSON in a text is read.
    """
    return tuple(dict.fromkeys(_leaves(_parse(response))))


def _parse(response: Any) -> Any:
    if isinstance(response, str) and response.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(response)
        except (ValueError, RecursionError):  # nested too deeply to be read
            return response
    return response


def _leaves(value: Any) -> Iterator[str]:
    for leaf in json_leaves(value):
        if isinstance(leaf, str):
            text = " ".join(leaf.split())
            if MIN_TEXT <= len(text) <= MAX_TEXT:
                yield text
        elif _has_digits(leaf):
            yield repr(leaf)


def _has_digits(value: Any) -> bool:
    """Return whether a value is a number of at least two digits, as JSON writes it: 0.5 has two."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) > 9
