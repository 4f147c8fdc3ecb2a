"""Model-safe tool names in ASCII with at most 64 characters, the same in every order of a catalog."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable

from trialbed.records import ApiRef

MAX_LENGTH = 64
"""The longest name that OpenAI-compatible endpoints take."""

OTHERS = re.compile(r"[^A-Za-z0-9-]+")
"""Runs of characters that are replaced, ``_`` among them."""

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""The names that OpenAI-compatible endpoints take."""

SUFFIX_LENGTH = 8
"""Hexadecimal digits that distinguish Apis with equal names."""


def safe_name(original: str) -> str:
    """Return the model-safe form of an original name; two originals may meet in one.

    Characters other than ASCII letters, digits, ``_`` and ``-`` become ``_``, runs of ``_`` collapse, outer
    ``_`` go, a leading ``-`` gets ``tool_``, an empty name is ``tool``; cut to 64.
    """
    name = OTHERS.sub("_", original).strip("_")
    if not name:
        return "tool"
    if not name[0].isalnum():
        name = f"tool_{name}"
    return name[:MAX_LENGTH].rstrip("_")


def function_name(original: str) -> str:
    """Return the model-safe form of a function's name, with ``_`` for each dot.

    That is how the function-calling leaderboard BFCL maps names. If endpoints would still reject the name,
    ``safe_name`` changes it.
    """
    name = original.replace(".", "_")
    return name if ALLOWED.fullmatch(name) else safe_name(original)


def tool_names(refs: Iterable[ApiRef], taken: Collection[str] = ()) -> dict[ApiRef, str]:
    """Return a unique model-safe name for each Api, independent of the order of ``refs``.

    If names of Apis are equal (among themselves or to a name in ``taken``), they all get a suffix from the SHA-256 of
    their identity: the triple, as Apis of two categories may share both names. If a suffixed name is again taken, the
    next round uses another hash.
    """
    names = {ref: _name(ref, 0) for ref in refs}
    rounds = dict.fromkeys(names, 0)
    while True:
        uses = Counter(names.values())
        uses.update(set(taken))
        meeting = [ref for ref, name in names.items() if uses[name] > 1]
        if not meeting:
            return names
        for ref in meeting:
            rounds[ref] += 1
            names[ref] = _name(ref, rounds[ref])


def _name(ref: ApiRef, number: int) -> str:
    name = safe_name(ref.title) if ref.tool_name else function_name(ref.api_name)
    if not number:
        return name
    kept = name[: MAX_LENGTH - 1 - SUFFIX_LENGTH].rstrip("_")
    identity = json.dumps([ref.category, ref.tool_name, ref.api_name, number])
    return f"{kept}_{hashlib.sha256(identity.encode()).hexdigest()[:SUFFIX_LENGTH]}"
