"""Indexes of catalogs, kept by the catalog's digest."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from trialbed.records import Api, ApiRef

log = logging.getLogger("trialbed.selection")

VERSION = 1
"""Of the form and the making of indexes: with another, they are made anew."""

Index = TypeVar("Index")


class CatalogIndex:
    """The Apis of a catalog in the order of their identities, and the folder of its indexes.

    Args:
        apis: each identity once; of one that occurs twice, the first counts.
        folder: where indexes are kept, in a folder for each digest; None keeps none.

    Attributes:
        apis: in the order in which indexes have them, whatever the order in which they came.
        refs: their identities.
        digest: SHA-256 over all that indexes read of the Apis.
    """

    def __init__(self, apis: Sequence[Api], folder: Path | None = None) -> None:
        found: dict[tuple[str, str, str], Api] = {}
        for api in apis:
            found.setdefault((api.category, api.tool_name, api.api_name), api)
        self.apis = tuple(found[identity] for identity in sorted(found))
        self.refs: tuple[ApiRef, ...] = tuple(api.ref for api in self.apis)
        self.digest = digest_of(self.apis)
        self._folder = folder

    def kept(
        self, kind: str, load: Callable[[Path], Index], make: Callable[[], Index], save: Callable[[Index, Path], None]
    ) -> Index:
        """The index of this kind: what is kept under the catalog's digest, else a new one, which is kept then.

        An index that cannot be read or written is reported in the log, and made anew.
        """
        if self._folder is None:
            return make()
        place = self._folder / self.digest[:32] / f"{kind}-{VERSION}"
        if place.is_dir():
            try:
                return load(place)
            except Exception as error:  # noqa: BLE001 - whatever a damaged file makes its reader raise
                log.warning("%s: the index cannot be read and is made anew: %s", place, error)
                shutil.rmtree(place, ignore_errors=True)
        made = make()
        try:
            _write(place, lambda folder: save(made, folder))
        except OSError as error:
            log.warning("%s: the index cannot be kept: %s", place, error)
        return made


def digest_of(apis: Sequence[Api]) -> str:
    """SHA-256 over the Apis, whatever made them: equal digests mean the same catalog."""
    digest = hashlib.sha256()
    for api in apis:
        fields = (
            api.category,
            api.tool_name,
            api.api_name,
            api.description,
            api.tool_description,
            [(item.name, item.description) for item in (*api.required_parameters, *api.optional_parameters)],
            api.template_response,
        )
        digest.update(json.dumps(fields, default=str).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _write(place: Path, save: Callable[[Path], None]) -> None:
    """Write a folder as a whole: another process finds all of it or nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        save(made)
        made.rename(place)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not place.is_dir():  # another process was faster
            raise
