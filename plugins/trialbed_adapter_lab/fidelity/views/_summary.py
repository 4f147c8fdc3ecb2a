"""The summary: a row for each framework and profile, so that native and controlled stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.fidelity import Behaviour, FrameworkFidelity
from trialbed_adapter_lab.fidelity.views._cells import memory, of, share, some, times
from trialbed_adapter_lab.fidelity.views._conclusion import CHANGED, LOST

Cell = Callable[[Any, Any], str]
"""A cell for a framework's part and the reference's, which may be None."""


def summary(found: Sequence[FrameworkFidelity], parts: Sequence[str]) -> Table:
    """Return a row for each framework; a column is there if its part was asked for."""
    columns = [(part, name) for part, group in COLUMNS.items() if part in parts for name in group]
    rows = [TableRow(one.framework, tuple(_cell(*column, one, found[0]) for column in columns)) for one in found]
    return Table("Summary", ("framework", *(name for _, name in columns)), rows if columns else ())


def _cell(part: str, name: str, one: FrameworkFidelity, reference: FrameworkFidelity) -> str:
    measured = getattr(one, part)
    return UNKNOWN if measured is None else COLUMNS[part][name](measured, getattr(reference, part))


def _after(part: Behaviour, status: str) -> str:
    found = part.requests_after(status)
    return UNKNOWN if found is None else f"{found}"


def _sum(part: Behaviour, name: str) -> str:
    return some(sum(getattr(one, name) for one in part.requests)) if part.requests else UNKNOWN


def _multiple(figure: str) -> Cell:
    """Return a cell with a figure of the load's first level, as a multiple of the reference's."""
    return lambda load, zero: times(
        getattr(load.levels[0], figure), getattr(zero.levels[0], figure) if zero is not None else None
    )


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
        "requests after 429": lambda part, _: _after(part, "429"),
        "after 500": lambda part, _: _after(part, "500"),
        "extra requests": lambda part, _: _sum(part, "extra"),
        "turns missing": lambda part, _: _sum(part, "missing"),
        "calls at once": lambda part, _: of(part.parallel.at_once, part.parallel.asked),
    },
    "load": {
        "time": _multiple("framework_ms"),
        "CPU": _multiple("cpu_ms"),
        "memory": lambda load, _: memory(load.loaded_rss),
    },
}
"""Part -> heading -> cell."""
