"""A catalog, put together of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import overload

from trialbed.catalogs._stored import StoredApis, api_digest
from trialbed.records import Api, ApiRef


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
