"""Entries of the response cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from trialbed_server.standard_names import StandardName

AUTHORITATIVE = ("real", "imported")
"""Origins whose responses are good for every trial, best first; others belong to one simulator."""


class Origin(NamedTuple):
    """The maker of a response: the provenance and the maker's revision (empty where it has none)."""

    provenance: str
    revision: str = ""


ANY = Origin("*")
"""Stands for every origin: with it, any entry is good."""

NO_ONE = Origin("")
"""Stands for no origin: with it, only authoritative entries are good."""


@dataclass(frozen=True)
class Entry:
    """A cached response.

    Attributes:
        key: of the triple and the input, see ``cache.keys``.
        name: the standardised triple.
        input: canonical JSON of the input.
        body: JSON of the whole answer, ``{"error": …, "response": …}``.
        settings: JSON of the settings it was made with, such as the model's; empty where there are none.
    """

    key: str
    name: StandardName
    input: str
    body: str
    origin: Origin
    settings: str = ""


class Stored(Protocol):
    """Anything that has a key and an origin."""

    @property
    def key(self) -> str:
        """The digest of the triple and the input."""

    @property
    def origin(self) -> Origin:
        """Its maker."""


AnyEntry = TypeVar("AnyEntry", bound=Stored)


def best(entries: Sequence[AnyEntry], key: str, origin: Origin) -> AnyEntry | None:
    """The entry to answer with: authoritative ones first, then those of this origin under the very key.

    An entry under another key than asked for is one of an imported spelling, and must have been imported.
    """

    def rank(entry: AnyEntry) -> int | None:
        if entry.origin.provenance in AUTHORITATIVE:
            exact = 0 if entry.key == key else len(AUTHORITATIVE)
            return exact + AUTHORITATIVE.index(entry.origin.provenance)
        fits = entry.key == key and origin in (entry.origin, ANY)
        return 2 * len(AUTHORITATIVE) if fits else None

    ranked = [(position, entry) for entry in entries if (position := rank(entry)) is not None]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None
