"""Read the tools that a model named, in every form that models write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from trialbed.records import ApiRef
from trialbed.texts import without_thoughts

LIST = re.compile(r"\[([^\[\]]*)")
"""A list up to its end, or up to the end of a truncated reply."""

QUOTED = re.compile(r'"((?:[^"\\\n]|\\.){0,500})"|\'((?:[^\'\\\n]|\\.){0,500})\'|`([^`\n]{1,500})`')
"""A name in quotes; no name is longer."""

BULLET = re.compile(r"(?:[-*•]|\d+[.):])?\s*(.*)")


def named_tools(reply: str, known: Mapping[str, ApiRef]) -> list[ApiRef]:
    """Return the Apis that a reply names, in its order, each once; names that are not known are left out.

    A list of texts is the form that was asked for. Of several lists, the first with a known name counts. Lists of
    objects, lists among words or cut short, and names in lines of their own are read too.

    Args:
        known: each name, in lower case -> the Api that it stands for.

    Raises:
        ValueError: it names none.
    """
    text = without_thoughts(reply)
    for names in (*map(_quoted_names, LIST.findall(text)), _quoted_names(text), _lines(text)):
        found = list(dict.fromkeys(ref for name in names if (ref := known.get(name.strip().lower())) is not None))
        if found:
            return found
    raise ValueError("it names no tool of the list; reply with a JSON list of names, exactly as they are listed")


def _quoted_names(text: str) -> Iterator[str]:
    for double, single, code in QUOTED.findall(text):
        try:
            yield json.loads(f'"{double}"') if double else single or code
        except ValueError:
            yield double


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        found = BULLET.fullmatch(line.strip())
        if found:
            name = found[1].removesuffix(",").rstrip()
            yield from (name, name.split(":")[0], name.split(" - ")[0])
