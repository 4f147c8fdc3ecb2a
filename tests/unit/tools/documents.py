"""Imports documents of tools, as whole documents and with a fault in them."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import DataError
from trialbed_tools.documents import FoundTools, find_tools

NAME = "shop.json"


def imported(folder: Path, document: Any) -> FoundTools:
    """The tools of a document, which may be given as its text."""
    path = folder / NAME
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return find_tools(str(path))


def with_part(document: dict[str, Any], *path: str | int, value: Any) -> dict[str, Any]:
    """A document with another value at a place."""
    made = deepcopy(document)
    part: Any = made
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return made


def check_refused(folder: Path, document: Any, says: str) -> None:
    """See that a document is refused in few words, which begin with its file and name what is wrong."""
    with pytest.raises(DataError) as raised:
        imported(folder, document)
    assert says in str(raised.value)
    assert str(raised.value).startswith(str(folder / NAME))
    assert len(str(raised.value)) < 500
