"""Catalogs of tools, joined from parts. Large parts are JSON Lines files with an index."""

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


class ApiCatalog(Sequence[Api]):
    """Apis, each identity once, in the order of their parts. Stored parts read an Api when it is asked for.

    Args:
        parts: if an Api is in several, the first counts.
    """

    def __init__(self, *parts: Sequence[Api]) -> None:
        self._places: dict[ApiRef, tuple[Sequence[Api], int]] = {}
        for part in parts:
            if isinstance(part, ApiCatalog):
                more = {ref: found for ref, found in part._places.items() if ref not in self._places}
                self._places |= more
                continue
            refs = part.refs if isinstance(part, StoredApis) else (api.ref for api in part)
            for place, ref in enumerate(refs):
                self._places.setdefault(ref, (part, place))

    @classmethod
    def of(cls, apis: Sequence[Api]) -> ApiCatalog:
        """Return a catalog of these Apis; a catalog is returned unchanged."""
        return apis if isinstance(apis, ApiCatalog) else cls(apis)

    @cached_property
    def refs(self) -> tuple[ApiRef, ...]:
        """The identities, in order."""
        return tuple(self._places)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 over all Apis in any order; equal digests mean the same catalog."""
        digest = hashlib.sha256()
        for ref in sorted(self._places, key=lambda ref: (ref.category, ref.tool_name, ref.api_name)):
            part, place = self._places[ref]
            own = part.digests[place] if isinstance(part, StoredApis) else api_digest(part[place].model_dump_json())
            digest.update(own.encode())
        return digest.hexdigest()

    def api(self, ref: ApiRef) -> Api:
        """Return the Api of this identity.

        Raises:
            KeyError: it is not in the catalog.
        """
        part, place = self._places[ref]
        return part[place]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Api: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Api]: ...

    def __getitem__(self, place: int | slice) -> Api | Sequence[Api]:
        if isinstance(place, slice):
            return tuple(self.api(ref) for ref in self.refs[place])
        return self.api(self.refs[place])
