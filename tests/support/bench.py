"""A finished ``bench`` command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one result document on stdout."""
        (document,) = self.documents
        return document

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The result documents on stdout."""
        value = json.loads(self.out)
        return value if isinstance(value, list) else [value]


Bench = Callable[..., Finished]
"""Runs ``bench`` with arguments in an empty folder; ``code`` is the exit code that is right."""
