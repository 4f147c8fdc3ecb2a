"""Reads which tools a model named, however it wrote them down."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.records import ApiRef
from trialbed.texts import json_values, without_thoughts

OPENING = re.compile(r"[\[{]")
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.){0,500})"|\'((?:[^\'\\\n]|\\.){0,500})\'|`([^`\n]{1,500})`')
"""A name in quotes; no name is longer."""
BULLET = re.compile(r"(?:[-*•]|\d+[.):])?\s*(.*)")
NAME_KEYS = ("name", "tool", "tool_name", "function", "api")
"""Keys under which models put a name, where they make objects of what should be texts."""

_DECODER = json.JSONDecoder(strict=False)


def named_tools(reply: str, known: Mapping[str, ApiRef]) -> list[ApiRef]:
    """The Apis that a reply names, in its order, each once; names that are not known are left out.

    A list of texts is the form that was asked for. Lists of objects, lists in objects, lists among words or cut short,
    and names in lines of their own are read too.

    Args:
        known: each name, in lower case -> the Api that it stands for.

    Raises:
        ValueError: it names none.
    """
    text = without_thoughts(reply)
    for names in (_listed_names(text), _quoted_names(text), _lines(text)):
        found = list(dict.fromkeys(ref for name in names if (ref := known.get(name.strip().lower())) is not None))
        if found:
            return found
    raise ValueError("it names no tool of the list; reply with a JSON list of names, exactly as they are listed")


def _listed_names(text: str) -> Iterator[str]:
    """The names in the first JSON value of the reply that is a list, or has one."""
    for _, _, found in json_values(text, OPENING, _DECODER):
        for value in _nest(found):
            names = list(_names(value))
            if names:
                yield from names
                return


def _nest(value: Any) -> Iterator[Any]:
    """The value and every list and object in it, in the order of the text."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, (dict, list)):
            yield value
            left.extend(reversed(value.values() if isinstance(value, dict) else value))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = next((item for item in value.values() if isinstance(item, list)), [])
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from (item[key] for key in NAME_KEYS if isinstance(item.get(key), str))


def _quoted_names(text: str) -> Iterator[str]:
    """The quoted texts of a list that was cut short, or is no JSON; of the whole reply where there is no list."""
    for double, single, code in QUOTED.findall(text[max(text.find("["), 0) :]):
        found = double or single or code
        try:
            yield json.loads(f'"{found}"') if double else found
        except ValueError:
            yield found


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        found = BULLET.fullmatch(line.strip())
        if found:
            name = found[1].removesuffix(",").rstrip()
            yield from (name, name.split(":")[0], name.split(" - ")[0])
