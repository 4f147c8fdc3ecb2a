"""The columns of a run's trials as a text that is read at once, however many they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from trialbed.records import IntegrityFinding
from trialbed.store._columns import RunColumns, ScoreKind, TrialColumns, TrialPlace
from trialbed.store._rows import decode, encode

VERSION = "1"
"""Incremented with a change of the text."""

T = TypeVar("T", bound=Hashable)


def columns_text(columns: RunColumns) -> str:
    """Return columns with the values of all scores as a text."""
    trials = columns.trials
    rows = [trial.row for trial in trials]
    offers, offered = _numbered(tuple(sorted(columns.tools.get(row, ()))) for row in rows)
    found: dict[str, Any] = {
        "row": rows,
        "repeat": [trial.key.repeat for trial in trials],
        "attempt": [trial.attempt for trial in trials],
        "wall_time": [trial.wall_time for trial in trials],
        "first": [place for place, trial in enumerate(trials) if trial.first],
        "integrity": [
            [place, [one.model_dump(mode="json") for one in trial.integrity]]
            for place, trial in enumerate(trials)
            if trial.integrity
        ],
        "kinds": {name: list(kind) for name, kind in columns.kinds.items()},
        "offers": offers,
        "offered": offered,
        "values": {name: list(map(own.get, rows)) for name, own in columns.values.items()},
    }
    for name, read in NUMBERED.items():
        found[name] = _numbered(map(read, trials))
    return encode(found)


NUMBERED: dict[str, Callable[[TrialColumns], Any]] = {
    "framework": lambda trial: trial.key.framework,
    "query": lambda trial: trial.key.query_id,
    "status": lambda trial: trial.status,
    "failure": lambda trial: trial.failure,
    "adapter": lambda trial: trial.adapter_digest,
}
"""Columns of few values, or of values that are said once."""


def _numbered(values: Iterable[T]) -> tuple[list[T], list[int]]:
    """Return the values, each once, and the places of all in them; 5 and "5" differ."""
    places: dict[T, int] = {}
    numbers = [places.setdefault(value, len(places)) for value in values]
    return list(places), numbers


def read_text(text: str, names: Iterable[str] | None = None) -> RunColumns:
    """Return the columns of a text.

    Args:
        names: the scores whose values are given; None for all, and the tools on offer beside them.
    """
    found = decode(text)
    rows: Sequence[int] = found["row"]
    columns = {name: _spread(*found[name]) for name in NUMBERED}
    first = [False] * len(rows)
    integrity: list[tuple[IntegrityFinding, ...]] = [()] * len(rows)
    for place in found["first"]:
        first[place] = True
    for place, own in found["integrity"]:
        integrity[place] = tuple(map(IntegrityFinding.model_validate, own))
    keys = map(TrialPlace, columns["framework"], columns["query"], found["repeat"])
    rest = (found["attempt"], columns["status"], columns["failure"], columns["adapter"], found["wall_time"])
    trials = tuple(map(TrialColumns, rows, keys, *rest, first, integrity))
    kinds = {name: ScoreKind(*kind) for name, kind in found["kinds"].items()}
    chosen = (
        found["values"] if names is None else {name: found["values"][name] for name in names if name in found["values"]}
    )
    values = {
        name: {row: value for row, value in zip(rows, own, strict=True) if value is not None}
        for name, own in chosen.items()
    }
    tools = (
        {}
        if names is not None
        else dict(zip(rows, _spread([*map(frozenset, found["offers"])], found["offered"]), strict=True))
    )
    return RunColumns(trials, values, kinds, tools)


def _spread(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [values[place] for place in places]
