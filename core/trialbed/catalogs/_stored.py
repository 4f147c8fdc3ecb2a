"""Apis in a folder, one a line, with an index of their identities."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

from trialbed.records import Api, ApiRef

APIS, INDEX = "apis.jsonl", "index.json"


def api_digest(text: str) -> str:
    """SHA-256 of an Api as JSON."""
    return hashlib.sha256(text.encode()).hexdigest()


class StoredApis(Sequence[Api]):
    """Apis that ``store`` wrote; each is read when it is asked for.

    Args:
        folder: the folder with the Apis.

    Attributes:
        refs: their identities, in order; each once.
        digests: the SHA-256 of each.

    Raises:
        OSError, ValueError, LookupError: the folder is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / APIS
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        rows = index["apis"]
        self.refs = tuple(ApiRef(category=row[0], tool_name=row[1], api_name=row[2]) for row in rows)
        self._ends = [int(row[3]) for row in rows]
        self.digests = tuple(str(row[4]) for row in rows)
        if self._file.stat().st_size != (self._ends[-1] if rows else 0):
            raise ValueError(f"{self._file} is not as long as its index says")

    @staticmethod
    def store(apis: Iterable[Api], folder: Path) -> None:
        """Write Apis, each identity once, into an existing folder."""
        rows: dict[ApiRef, tuple[str, str, str, int, str]] = {}
        end = 0
        with (folder / APIS).open("wb") as file:
            for api in apis:
                if api.ref in rows:
                    continue
                text = api.model_dump_json()
                end += file.write(text.encode() + b"\n")
                rows[api.ref] = (api.category, api.tool_name, api.api_name, end, api_digest(text))
        (folder / INDEX).write_text(json.dumps({"apis": list(rows.values())}), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.refs)

    @overload
    def __getitem__(self, place: int) -> Api: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Api]: ...

    def __getitem__(self, place: int | slice) -> Api | Sequence[Api]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        end = self._ends[place]
        place %= len(self.refs)
        return Api.model_validate_json(self._lines[self._ends[place - 1] if place else 0 : end])

    @cached_property
    def _lines(self) -> mmap.mmap:
        with self._file.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
