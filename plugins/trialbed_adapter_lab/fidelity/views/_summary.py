"""The summary: a row for each framework and profile, so that native and controlled stand side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from trialbed.texts import group_by_key
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.fidelity import Behaviour, FrameworkFidelity
from trialbed_adapter_lab.fidelity.views._behaviour import text_after
from trialbed_adapter_lab.fidelity.views._cells import of, share, some
from trialbed_adapter_lab.fidelity.views._conclusion import CHANGED, LOST

Cell = Callable[[Any, Any], str]
"""A cell for a framework's part and the reference's, which may be None."""


def summary(found: Sequence[FrameworkFidelity], parts: Sequence[str]) -> Table:
    """Return a row for each framework; a column is there if its part was asked for."""
    columns = [(part, name) for part, group in COLUMNS.items() if part in parts for name in group]
    rows = [TableRow(one.framework, tuple(_cell(*column, one, found[0]) for column in columns)) for one in found]
    return Table("Summary", ("framework", *(name for _, name in columns)), rows if columns else ())


def summaries(found: Sequence[FrameworkFidelity], parts: Sequence[str]) -> Iterator[Table]:
    """Yield the same for a page: a table for each part, where frameworks of a profile that are alike share a row.

    The first framework is the reference, and has a row of its own.
    """
    for part in (part for part in COLUMNS if part in parts):
        columns = tuple(COLUMNS[part])
        rows = [TableRow(one.framework, tuple(_cell(part, name, one, found[0]) for name in columns)) for one in found]
        profiles = group_by_key((one.profile, row) for one, row in zip(found[1:], rows[1:], strict=True))
        merged = [row for profile, own in profiles.items() for row in _merge(profile, own)]
        yield Table(TITLES[part], ("framework", *columns), [*rows[:1], *merged])


def _merge(profile: str | None, rows: Sequence[TableRow]) -> Sequence[TableRow]:
    """Return the rows of a profile, those that are alike as a last one, if they are most of them."""
    alike, number = Counter(row.cells for row in rows).most_common(1)[0]
    if profile is None or number < FEW or 2 * number <= len(rows):
        return rows
    which = "all" if number == len(rows) else "the other"
    return [*(row for row in rows if row.cells != alike), TableRow(f"{which} {number}, {profile}", alike)]


def _cell(part: str, name: str, one: FrameworkFidelity, reference: FrameworkFidelity) -> str:
    measured = getattr(one, part)
    return UNKNOWN if measured is None else COLUMNS[part][name](measured, getattr(reference, part))


def _sum(part: Behaviour, name: str) -> str:
    return some(sum(getattr(one, name) for one in part.requests)) if part.requests else UNKNOWN


FEW = 3
"""Rows below which those that are alike stand by themselves."""

TITLES = {
    "schemas": "Tools as they are offered, and their calls",
    "prompt": "What is added to the prompt of the model",
    "behaviour": "Requests after an error, and turns",
}
"""Part -> the title of its table on a page."""

COLUMNS: dict[str, dict[str, Cell]] = {
    "schemas": {
        "tools lost": lambda part, _: some(part.count(*LOST)),
        "tools renamed": lambda part, _: some(part.count("renamed")),
        "tools added": lambda part, _: some(len(part.others)),
        "schemas changed": lambda part, _: some(part.count(*CHANGED)),
        "calls as sent": lambda part, _: of(part.calls.count("as sent"), len(part.calls)) if part.calls else UNKNOWN,
    },
    "prompt": {
        "bytes": lambda part, _: share(*part.request_bytes()),
        "tokens": lambda part, _: share(*part.prompt_tokens()),
        "messages changed": lambda part, _: some(len(part.last)),
    },
    "behaviour": {
        "requests after 429": lambda part, _: text_after(part, "429"),
        "requests after 500": lambda part, _: text_after(part, "500"),
        "extra requests": lambda part, _: _sum(part, "extra"),
        "turns missing": lambda part, _: _sum(part, "missing"),
        "calls at once": lambda part, _: of(part.parallel.at_once, part.parallel.asked),
    },
}
"""Part -> heading -> cell."""
