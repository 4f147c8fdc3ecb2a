"""Indexes of catalogs, kept by the catalog's digest."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from trialbed.catalogs import ApiCatalog
from trialbed.files import write_folder
from trialbed.records import Api, ApiRef

log = logging.getLogger("trialbed.selection")

VERSION = 1
"""The version of the form and the making of indexes: with another, they are made anew."""

Index = TypeVar("Index")


class CatalogIndex:
    """The Apis of a catalog in the order of their identities, and the folder of its indexes.

    Args:
        apis: each identity once; of one that occurs twice, the first counts.
        folder: where indexes are kept, in a folder for each digest; None keeps none.

    Attributes:
        refs: their identities, in the order in which indexes have them, whatever the order in which they came.
        digest: the catalog's.
    """

    def __init__(self, apis: Sequence[Api], folder: Path | None = None) -> None:
        self._catalog = ApiCatalog.of(apis)
        self.refs = tuple(sorted(self._catalog.refs, key=identity))
        self.digest = self._catalog.digest
        self._folder = folder

    @cached_property
    def apis(self) -> tuple[Api, ...]:
        """All Apis, in the order of ``refs``; an index that is kept does not need them."""
        return tuple(self._catalog.api(ref) for ref in self.refs)

    def api(self, ref: ApiRef) -> Api:
        """The Api of this identity."""
        return self._catalog.api(ref)

    def kept(
        self, kind: str, load: Callable[[Path], Index], make: Callable[[], Index], save: Callable[[Index, Path], None]
    ) -> Index:
        """Load the index of this kind under the catalog's digest, or build it and keep it there.

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
            write_folder(place, lambda folder: save(made, folder))
        except OSError as error:
            log.warning("%s: the index cannot be kept: %s", place, error)
        return made


def identity(ref: ApiRef) -> tuple[str, str, str]:
    """Return the triple by which Apis are ordered."""
    return ref.category, ref.tool_name, ref.api_name
