"""Finds the worst trials of a run, by the entries of its result documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Document = Mapping[str, Any]
Entry = Mapping[str, Any]

JUDGING = ("sopr_score", "api_call_score")
"""The scores that say how a trial went, the foremost first."""

SHOWN = 5
"""Queries that are listed where no other number is asked for."""


@dataclass(frozen=True)
class WorstQuery:
    """A query on which something went wrong.

    Attributes:
        text: the task; empty where it is not known.
        entries: framework -> the entries of its trials, as far as they have ended.
        worst: the framework and the entry of the trial that went worst.
    """

    query_id: int | str
    text: str
    entries: Mapping[str, Sequence[Entry]]
    worst: tuple[str, Entry]


def worst_queries(documents: Sequence[Document], most: int = SHOWN) -> list[WorstQuery]:
    """The queries on which most went wrong, the worst first; none where everything went right.

    Trials that were not measured say nothing, and come after all that do.
    """
    found: dict[int | str, dict[str, list[Entry]]] = {}
    for document in documents:
        for entry in document["results"]:
            of_query = found.setdefault(entry["query_id"], {})
            of_query.setdefault(document["metadata"]["agent_name"], []).append(entry)
    ranked = sorted(_flawed(found), key=lambda query: _of_query(query.entries))
    return ranked[:most]


def trial_name(framework: str, entry: Entry) -> str:
    """The name of a trial within its run, as ``bench show`` takes it: ``langgraph:native/17``, ``reference/17/2``."""
    query = entry["query_id"]
    # In quotes where a number would be taken for one.
    shown = f'"{query}"' if isinstance(query, str) and query.isdigit() else str(query)
    return f"{framework}/{shown}" + (f"/{entry['repeat']}" if entry.get("repeat") else "")


def _flawed(found: Mapping[int | str, Mapping[str, list[Entry]]]) -> Iterator[WorstQuery]:
    for query_id, entries in found.items():
        flawed = [(name, entry) for name, own in entries.items() for entry in own if _is_flawed(entry)]
        if flawed:
            worst = min(flawed, key=lambda item: _of_trial(item[1]))
            yield WorstQuery(query_id, str(worst[1].get("query_text", "")), entries, worst)


def _is_flawed(entry: Entry) -> bool:
    return entry["status"] != "answered" or _quality(entry) < 1 or _faults(entry) > 0


def _of_trial(entry: Entry) -> tuple[bool, float, int]:
    return entry["status"] == "not measured", _quality(entry), -_faults(entry)


def _of_query(entries: Mapping[str, Iterable[Entry]]) -> tuple[bool, float, int]:
    every = [entry for own in entries.values() for entry in own]
    measured = [entry for entry in every if entry["status"] != "not measured"]
    quality = fmean(map(_quality, measured)) if measured else 0.0
    return not measured, quality, -sum(map(_faults, every))


def _quality(entry: Entry) -> float:
    """The mean of the scores that are known; one that could not be told is 0."""
    values = [entry["scores"].get(name) for name in JUDGING if name in entry["scores"]]
    return fmean(value or 0.0 for value in values) if values else 0.0


def _faults(entry: Entry) -> int:
    """Calls that the server refused, or that could not be made, and requests to the model that failed."""
    wire = entry["wire"]
    return sum(int(wire.get(kind, 0)) for kind in ("api_errors", "sent_invalid", "model_errors"))
