"""The summary: a row for each framework and profile, so that native and controlled stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.fidelity import Behaviour, FrameworkFidelity, Load, Prompt, ToolSchemas
from trialbed_adapter_lab.fidelity.views._cells import memory, of, some, times

Measured = TypeVar("Measured")
Cell = Callable[[FrameworkFidelity, FrameworkFidelity], str]
"""A cell for a framework and the reference."""

CHANGES = frozenset({"lost", "added", "changed", "reordered"})
LOST = frozenset({"missing", "refused"})


def summary(found: Sequence[FrameworkFidelity], parts: Sequence[str]) -> Table:
    """Return a row for each framework; a column is there if its part was asked for."""
    columns = [(name, cell) for part, group in COLUMNS.items() if part in parts for name, cell in group.items()]
    rows = [TableRow(one.framework, tuple(cell(one, found[0]) for _, cell in columns)) for one in found]
    return Table("Summary", ("framework", *(name for name, _ in columns)), rows if columns else ())


def _cell_or_unknown(part: Measured | None, cell: Callable[[Measured], str]) -> str:
    return UNKNOWN if part is None else cell(part)


def _schemas(cell: Callable[[ToolSchemas], str]) -> Cell:
    return lambda one, _: _cell_or_unknown(one.schemas, cell)


def _prompt(cell: Callable[[Prompt], str]) -> Cell:
    return lambda one, _: _cell_or_unknown(one.prompt, cell)


def _behaviour(cell: Callable[[Behaviour], str]) -> Cell:
    return lambda one, _: _cell_or_unknown(one.behaviour, cell)


def _cost(cell: Callable[[Load, Load | None], str]) -> Cell:
    return lambda one, zero: _cell_or_unknown(one.load, lambda load: cell(load, zero.load))


def _with_effect(part: ToolSchemas, effects: frozenset[str]) -> str:
    return some(sum(not effects.isdisjoint(finding.effects) for finding in part.findings))


def _calls(part: ToolSchemas) -> str:
    told = [finding.call for finding in part.findings if finding.call != "not told"]
    return of(told.count("as sent"), len(told)) if told else UNKNOWN


def _share(added: int, whole: int) -> str:
    """Return the addition, and its share of the size without it."""
    plain = whole - added
    return f"{added:+,} ({added / plain:+.0%})" if plain else f"{added:+,}"


def _bytes(part: Prompt) -> str:
    return _share(part.added_bytes, sum(turn.request_bytes for turn in part.turns))


def _tokens(part: Prompt) -> str:
    return _share(part.added_tokens, sum(turn.prompt_tokens for turn in part.turns))


def _messages(part: Prompt) -> str:
    return some(len(part.last))


def _after(part: Behaviour, status: str) -> str:
    found = next((one.requests for one in part.refusals if one.policy == status), None)
    return UNKNOWN if found is None else f"{found.seen}"


def _extra(part: Behaviour) -> str:
    told = [one.requests for one in part.turns if one.requests is not None]
    return some(sum(one.repeated + one.aside + max(0, one.beyond) for one in told)) if told else UNKNOWN


def _missing(part: Behaviour) -> str:
    told = [one.requests for one in part.turns if one.requests is not None]
    return some(sum(max(0, -one.beyond) for one in told)) if told else UNKNOWN


def _at_once(part: Behaviour) -> str:
    return of(part.parallel.at_once, part.parallel.asked)


def _time(load: Load, zero: Load | None) -> str:
    return times(load.levels[0].framework_ms, zero.levels[0].framework_ms if zero else None)


def _cpu(load: Load, zero: Load | None) -> str:
    return times(load.levels[0].cpu_ms, zero.levels[0].cpu_ms if zero else None)


COLUMNS: dict[str, dict[str, Cell]] = {
    "schemas": {
        "tools lost": _schemas(lambda part: _with_effect(part, LOST)),
        "tools renamed": _schemas(lambda part: _with_effect(part, frozenset({"renamed"}))),
        "tools added": _schemas(lambda part: some(len(part.others))),
        "schemas changed": _schemas(lambda part: _with_effect(part, CHANGES)),
        "calls as sent": _schemas(_calls),
    },
    "prompt": {
        "bytes": _prompt(_bytes),
        "tokens": _prompt(_tokens),
        "messages changed": _prompt(_messages),
    },
    "behaviour": {
        "requests after 429": _behaviour(lambda part: _after(part, "429")),
        "after 500": _behaviour(lambda part: _after(part, "500")),
        "extra requests": _behaviour(_extra),
        "turns missing": _behaviour(_missing),
        "calls at once": _behaviour(_at_once),
    },
    "load": {
        "time": _cost(_time),
        "CPU": _cost(_cpu),
        "memory": _cost(lambda load, _: memory(load.loaded_rss)),
    },
}
"""Part -> heading -> cell. Times and CPU are multiples of the reference's, at the first level of the load."""
