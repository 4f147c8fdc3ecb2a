"""Which of several entries answers."""

from __future__ import annotations

from support.cases import for_each

from trialbed_server.response_store import ANY, Entry, Origin, best
from trialbed_server.standard_names import StandardName

TEMPLATE = Origin("template", "1")
NAME = StandardName("c", "t", "a")


def entries(*pairs: tuple[str, Origin]) -> list[Entry]:
    return [Entry(key, NAME, "{}", "{}", origin) for key, origin in pairs]


REAL, IMPORTED = Origin("real"), Origin("imported")


@for_each(
    ("stored", "asked", "found"),
    [
        ([("k", TEMPLATE), ("k", IMPORTED), ("k", REAL)], TEMPLATE, ("k", REAL)),
        ([("k", TEMPLATE), ("k", IMPORTED)], TEMPLATE, ("k", IMPORTED)),
        ([("k", TEMPLATE), ("alias", IMPORTED)], TEMPLATE, ("alias", IMPORTED)),
        ([("k", IMPORTED), ("alias", REAL)], TEMPLATE, ("k", IMPORTED)),
        ([("k", TEMPLATE)], TEMPLATE, ("k", TEMPLATE)),
        ([("k", TEMPLATE)], Origin("template", "2"), None),
        ([("k", TEMPLATE)], Origin("mini", "1"), None),
        ([("alias", TEMPLATE)], TEMPLATE, None),
        ([("k", TEMPLATE)], ANY, ("k", TEMPLATE)),
        ([("alias", TEMPLATE)], ANY, None),
        ([], TEMPLATE, None),
    ],
)
def test_authoritative_entries_come_first_and_a_simulators_are_its_own(
    stored: list[tuple[str, Origin]], asked: Origin, found: tuple[str, Origin] | None
) -> None:
    entry = best(entries(*stored), "k", asked)
    assert (entry and (entry.key, entry.origin)) == found
