"""Reads the sides of comparisons: from result documents, those of other programs too, and from the store."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed.integrity import framework_integrity, trial_findings
from trialbed.records import NOT_MEASURED
from trialbed.report.comparison._sides import (
    QueryId,
    Side,
    compared_run,
    missing_trials,
    run_side,
)
from trialbed.scoring import OF_SOME
from trialbed.store import TrialTable, open_store, require_frameworks, tools_digest

FOLDER = Path("results", "tools")
"""The folder of documents that may be named by their names alone."""

ORIGINAL_SCORES = frozenset({"sopr_score", "api_call_score"})
"""The scores in a result file of MASBench, which names none; each is one of quality from 0 to 1."""

NEAR = 1e-9
"""By how much rounding may put a score outside its range."""


def is_document(path: Path) -> bool:
    """Return whether a file is a result document, or the list of them that ``bench run --json`` prints."""
    if path.suffix == ".jsonl":  # rows, of which there may be more than can be read at once
        return False
    try:
        documents = _documents(json.loads(read_bytes(path)))
    except (OSError, ValueError):
        return False
    needed = {"metadata", "summary", "results"}
    return bool(documents) and all(isinstance(one, dict) and needed <= one.keys() for one in documents)


def document_file(value: str) -> Path | None:
    """Return the file of this path, or of this name where documents are usually written; None if there is neither."""
    paths = [Path(value), FOLDER / f"{value}.json"] if value else []
    return next((path for path in paths if path.exists()), None)


def read_sides(value: str, store: str | None) -> list[Side]:
    """Return the sides of a file of result documents, or of a run in the store: one per framework.

    Raises:
        DataError: the file is not a result document, or the run is not in the store.
    """
    return read_groups([value], store)[0]


def read_groups(values: Sequence[str], store: str | None) -> list[list[Side]]:
    """Return the sides of each of several files and runs, as ``read_sides`` does; each run is read once."""
    tables: dict[str, TrialTable] = {}
    groups: list[list[Side]] = []
    for value in values:
        if (path := document_file(value)) is not None:
            groups.append(read_documents(path))
            continue
        name, _, framework = value.partition("/")
        with open_store(store) as reader:
            run = require_frameworks(reader.run(name))
            if run.run_id not in tables:
                tables[run.run_id] = run.table()
            table, group = tables[run.run_id], []
            quality, is_apart = frozenset(table.quality), table.first_apart
            for label in (run.framework(framework),) if framework else run.config.frameworks:
                own = table.of(label)
                void = framework_integrity(run.config, label, map(trial_findings, own["facts"])).void
                group.append(run_side(run.record, label, own, quality, void=void, first_apart=is_apart))
            groups.append(group)
    return groups


def read_documents(path: Path) -> list[Side]:
    """Return the sides of a file of result documents.

    Raises:
        DataError: it is not one, or a value in it cannot be compared.
    """
    try:
        return [_side(str(path), document) for document in _documents(json.loads(read_bytes(path)))]
    except KeyError as error:
        raise DataError(f"{path}: not a result document of bench run: it lacks {error}") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a result document of bench run: {type(error).__name__}: {error}") from error


def _documents(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _side(source: str, document: Mapping[str, Any]) -> Side:
    about, summary, entries = document["metadata"], document["summary"], document["results"]
    # A result file of MASBench says neither its run nor how sure its averages are.
    is_claimed = "run_id" not in about and "average_api_call_score" in summary and "intervals" not in summary
    bounded = ORIGINAL_SCORES if is_claimed else frozenset(summary["intervals"])
    declared = summary.get("quality_scores")
    # Documents of other programs need not say in which scores a failed trial is 0.
    trials = _table(entries, () if declared is None else OF_SOME)
    first = summary.get("first_trials") or {}
    _check(source, entries, trials, bounded)
    trials = replace(trials, columns={**trials.columns, "repeat": trials["repeat"].astype("int64")})
    return Side(
        source=source,
        name=about["agent_name"],
        about=compared_run(about, is_claimed=is_claimed),
        trials=trials,
        bounded=bounded,
        quality=bounded if declared is None else frozenset(declared),
        missing=missing_trials(about, trials),
        tasks={
            entry["query_id"]: json.dumps([entry["query_text"], entry.get("gold_apis")])
            for entry in entries
            if "query_text" in entry
        },
        first_apart=not first.get("count") or bool(first.get("kept_apart")),
        is_claimed=is_claimed,
        void=str((summary.get("integrity") or {}).get("void") or ""),
    )


def _table(entries: Sequence[Mapping[str, Any]], stated: Collection[str]) -> TrialTable:
    """Return the trials of a document.

    Args:
        stated: the scores in which a failed trial is 0 only if its entry says so.
    """
    import numpy as np

    places: dict[QueryId, int] = {}
    absences: dict[tuple[str, ...], int] = {(): 0}
    counts = Counter[QueryId]()
    rows = []
    for entry in entries:
        query_id, scores = entry["query_id"], entry["scores"]
        error = entry.get("error", {"kind": ""})
        # An error that is text, as in result files of MASBench, is the agent's.
        failure = "agent" if isinstance(error, str) else str(error["kind"])
        measured = entry["status"] != "not measured" if "status" in entry else failure not in NOT_MEASURED
        absent = tuple(name for name in stated if _number(scores.get(name)) is None) if failure else ()
        row = {
            "query": places.setdefault(query_id, len(places)),
            # Documents of other programs do not number the repeats; they are in order.
            "repeat": entry.get("repeat", counts[query_id]),
            "status": ("failed" if failure else "answered") if measured else "not measured",
            "failure": failure,
            "first": float(bool((entry.get("timing") or {}).get("first"))),
            "absent": absences.setdefault(absent, len(absences)),
            "tools": tools_digest(entry.get("selected_tools") or ()),
        }
        rows.append(row)
        counts[query_id] += 1
    kinds = dict.fromkeys(("repeat", "status", "failure", "tools"), object)
    kinds |= {"query": np.int64, "first": np.float64, "absent": np.int64}
    columns = {name: np.array([row[name] for row in rows], dtype=kind) for name, kind in kinds.items()}
    every = np.arange(len(entries))
    columns |= {"framework": every * 0, "row": every}
    numbers = [{name: _number(value) for name, value in entry["scores"].items()} for entry in entries]
    names = dict.fromkeys(name for own in numbers for name, value in own.items() if value is not None)
    scored = {name: np.array([own.get(name) for own in numbers], dtype=float) for name in names}
    given = {name: np.isfinite(column) for name, column in scored.items()}
    return TrialTable((), list(places), columns, scored, given, absences=list(absences))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _check(source: str, entries: Sequence[Mapping[str, Any]], trials: TrialTable, bounded: Collection[str]) -> None:
    """Check that each trial is there once, and that its scores can be compared.

    Raises:
        DataError: it is not so, as in a document that was changed by hand or written by another program.
    """
    seen = set()
    for entry, repeat in zip(entries, trials["repeat"].tolist(), strict=True):
        place = f"{source}: query {entry['query_id']!r}"
        if not isinstance(repeat, int) or not 0 <= repeat < 2**31:
            raise DataError(f"{place}: repeat is {repeat!r:.40}, not a whole number from 0 to 2,147,483,647")
        if (entry["query_id"], repeat) in seen:
            raise DataError(f"{place} has repeat {repeat} more than once; keep one of them")
        seen.add((entry["query_id"], repeat))
        for name, value in entry["scores"].items():
            number = _number(value)
            if name in bounded and value is not None and not (number is not None and -NEAR <= number <= 1 + NEAR):
                raise DataError(f"{place}: {name} is {value!r}, not a number from 0 to 1")
            if number is not None and not math.isfinite(number):
                raise DataError(f"{place}: {name} is {value!r}, not a number")
