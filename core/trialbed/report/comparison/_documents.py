"""Reads result documents, those of other programs too, into the sides of comparisons."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed.records import NOT_MEASURED, HelperRole, HelperUse
from trialbed.report.comparison._sides import (
    ComparedRun,
    HelperTotals,
    Side,
    compared_settings,
    missing_trials,
)
from trialbed.report.comparison._trial_table import ComparedTrial, QueryId, TrialTable
from trialbed.scoring import OF_SOME

FOLDER = Path("results", "tools")
"""The folder of documents that may be named by their names alone."""

ORIGINAL_SCORES = frozenset({"sopr_score", "api_call_score"})
"""The scores in a result file of MASBench, which names none; each is one of quality from 0 to 1."""

FIRST_LINE = 2**20
"""Bytes of a first line that shows whether a file has a JSON object on each."""

NEAR = 1e-9
"""By how much rounding may put a score outside its range."""


def is_document(path: Path) -> bool:
    """Return whether a file is a result document, or the list of them that ``bench run --json`` prints."""
    try:
        with path.open("rb") as file:
            first = file.readline(FIRST_LINE)
        if first[:1] not in (b"{", b"["):
            return False
        try:
            whole = json.loads(first)  # a file of rows is not read any further, however long it is
        except ValueError:
            whole = json.loads(read_bytes(path))
        return _are_documents(whole)
    except (OSError, ValueError):
        return False


def document_file(value: str) -> Path | None:
    """Return the file of this path, or of this name where documents are usually written; None if there is neither."""
    paths = [Path(value), FOLDER / f"{value}.json"] if value else []
    return next((path for path in paths if path.exists()), None)


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


def _are_documents(found: Any) -> bool:
    documents = _documents(found)
    return bool(documents) and all(
        isinstance(document, dict) and {"metadata", "summary", "results"} <= document.keys() for document in documents
    )


def _documents(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _side(source: str, document: Mapping[str, Any]) -> Side:
    about, summary, entries = document["metadata"], document["summary"], document["results"]
    is_claimed = _is_original(document)
    bounded = ORIGINAL_SCORES if is_claimed else frozenset(summary["intervals"])
    declared = summary.get("quality_scores")
    quality = bounded if declared is None else frozenset(declared)
    # Documents of other programs need not say in which scores a failed trial is 0.
    trials = list(_trials(entries, () if declared is None else OF_SOME))
    first = summary.get("first_trials") or {}
    _check(source, entries, trials, bounded)
    return Side(
        source=source,
        name=about["agent_name"],
        about=_run(about, {} if is_claimed else compared_settings()),
        trials=TrialTable.of(trials),
        bounded=bounded,
        quality=quality,
        missing=missing_trials(
            about.get("status"),
            due=(about.get("num_queries") or 0) * (about.get("repeat") or 1),
            trials=len(trials),
            measured=sum(1 for trial in trials if trial.measured),
        ),
        tasks={
            entry["query_id"]: json.dumps([entry["query_text"], entry.get("gold_apis")])
            for entry in entries
            if "query_text" in entry
        },
        first_apart=not first.get("count") or bool(first.get("kept_apart")),
        is_claimed=is_claimed,
        void=str((summary.get("integrity") or {}).get("void") or ""),
    )


def _is_original(document: Mapping[str, Any]) -> bool:
    """Return whether a document is a result file of MASBench: it says neither its run nor how sure its averages are."""
    summary = document["summary"]
    return "run_id" not in document["metadata"] and "average_api_call_score" in summary and "intervals" not in summary


def _run(about: Mapping[str, Any], defaults: Mapping[str, Any]) -> ComparedRun:
    """Return the run of a document, with these values for settings that it does not record."""
    judge = about.get("judge")
    settings = {key: about.get(key, defaults.get(key)) for key in compared_settings()}
    facts = judge or {}
    return ComparedRun(
        framework=about["agent_name"],
        framework_version=about.get("framework_version"),
        run_id=about.get("run_id"),
        status=about.get("status"),
        dataset_digest=about.get("dataset_digest"),
        judge=judge,
        settings={**settings, "judge_prompt": facts.get("prompt"), "judge_rules": facts.get("rules")},
        helpers=HelperTotals(tuple(_helpers(about))),
    )


def _helpers(about: Mapping[str, Any]) -> Iterator[HelperUse]:
    """Yield the helpers of a document's run by their names; a document does not say for how many trials they asked."""
    for found in about.get("helpers") or ():
        if found["role"] in get_args(HelperRole):
            yield HelperUse(role=found["role"], model=str(found["model"]))


def _trials(entries: Sequence[Mapping[str, Any]], stated: Collection[str]) -> Iterator[ComparedTrial]:
    """Yield the trials of a document.

    Args:
        stated: the scores in which a failed trial is 0 only if its entry says so.
    """
    counts: Counter[QueryId] = Counter()
    for entry in entries:
        query_id, tools = entry["query_id"], entry.get("selected_tools")
        failure = _failure_kind(entry["error"]) if "error" in entry else ""
        scores = {name: float(value) for name, value in entry["scores"].items() if isinstance(value, (int, float))}
        yield ComparedTrial(
            query_id,
            scores,
            failure,
            entry["status"] != "not measured" if "status" in entry else failure not in NOT_MEASURED,
            # Documents of other programs do not number the repeats; they are in order.
            entry.get("repeat", counts[query_id]),
            frozenset(tools) if tools else None,
            bool((entry.get("timing") or {}).get("first")),
            tuple(name for name in stated if name not in scores) if failure else (),
        )
        counts[query_id] += 1


def _failure_kind(error: Any) -> str:
    """Return the kind of a failure; that of the agent where an error is text, as in result files of MASBench."""
    return "agent" if isinstance(error, str) else str(error["kind"])


def _check(
    source: str, entries: Sequence[Mapping[str, Any]], trials: Sequence[ComparedTrial], bounded: Collection[str]
) -> None:
    """Check that each trial is there once, and that its scores can be compared.

    Raises:
        DataError: it is not so, as in a document that was changed by hand or written by another program.
    """
    places = Counter(trial.pair for trial in trials)
    twice = next((place for place, count in places.items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{source}: query {twice[0]!r} has repeat {twice[1]} more than once; keep one of them")
    for trial in trials:
        if not isinstance(trial.repeat, int) or not 0 <= trial.repeat < 2**31:
            place = f"{source}: query {trial.query_id!r}: repeat"
            raise DataError(f"{place} is {trial.repeat!r:.40}, not a whole number from 0 to 2,147,483,647")
    for entry in entries:
        for name, value in entry["scores"].items():
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            if name in bounded and value is not None and not (is_number and -NEAR <= value <= 1 + NEAR):
                raise DataError(f"{source}: query {entry['query_id']!r}: {name} is {value!r}, not a number from 0 to 1")
            if isinstance(value, float) and not is_number:
                raise DataError(f"{source}: query {entry['query_id']!r}: {name} is {value!r}, not a number")
