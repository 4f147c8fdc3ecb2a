"""Rows of result files, ours and other tools'."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from trialbed_verify.compare import compare
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import as_document
from trialbed_verify.table import read_one

Row = dict[str, Any]

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
FIGURES = {"ttft_ms": 250.0, "tps": 50.0, "completion_tokens": 40, "total_tokens": 140}


def request(number: int, **settings: Any) -> Row:
    """The request of a case, with settings beside what it asks."""
    return {"messages": [{"role": "user", "content": f"task {number}"}], "tools": [TOOL], "model": "m-id", **settings}


def k2_row(number: int, finish: str | None = "stop", *, valid: bool | None = None, **changes: Any) -> Row:
    """A row as K2-style tools write it; ``finish`` is ``"failed"`` for a failure."""
    failed = finish == "failed"
    row = {
        "data_index": number,
        "request": request(number),
        "extra_body": {},
        "response": {"error_type": "APIError"} if failed else {"usage": {"total_tokens": 100 + number}},
        "status": "failed" if failed else "success",
        "finish_reason": None if failed else finish,
        "tool_calls_valid": valid,
        "last_run_at": "2026-01-01T00:00:00",
        "duration_ms": 900,
        "hash": f"{number:032x}",
    }
    return row | changes


def own_row(number: int, outcome: str = "stop", *, trial: int = 0, valid: bool | None = True, **changes: Any) -> Row:
    """A row as ``bench verify`` writes it."""
    answered = outcome in ("tool_calls", "stop", "other")
    finish = {"other": "length"}.get(outcome, outcome) if answered else None
    called = outcome == "tool_calls"
    row = k2_row(number, finish or "failed", valid=valid if called else None) | {
        "case": f"{number:064x}",
        "trial": trial,
        "config": "configuration",
        "vendor": "acme",
        "model": "m",
        "outcome": outcome,
        "problem": None if answered else {"kind": "cut_stream", "message": "ended early"},
        "notes": [],
        "calls": [{"name": "look_up", "valid": valid, "reasons": [] if valid else ["wrong_type"]}] if called else [],
        **(FIGURES if answered else dict.fromkeys(FIGURES)),
        "served": {"model": "m-id", "system_fingerprint": "fp", "provider": None},
    }
    return row | changes


def write_rows(path: Path, rows: Iterable[Row]) -> Path:
    """Write a results file."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def own_file(path: Path, outcomes: Sequence[Sequence[str] | str], **changes: Any) -> Path:
    """A results file of ours: per case its outcome, or the outcomes of its trials. The vendor is the file's stem."""
    rows = [
        own_row(number, outcome, trial=trial, **{"vendor": path.stem, "config": path.stem, **changes})
        for number, trials in enumerate(outcomes, 1)
        for trial, outcome in enumerate([trials] if isinstance(trials, str) else trials)
    ]
    return write_rows(path, rows)


def compared_files(baseline: Path, vendor: Path, **options: Any) -> dict[str, Any]:
    """The document of the comparison of a vendor's results file with a baseline's."""
    sides = (read_one(FileRows(path)) for path in (baseline, vendor))
    (found,) = compare(next(sides), sides, **{"resamples": 100, **options})
    return as_document(found)


def own_summary(path: Path, *, is_baseline: bool) -> Path:
    """A summary of ours beside a results file that ``own_file`` wrote."""
    about = {"is_baseline": is_baseline, "provenance": {"configuration_digest": path.stem}}
    beside = path.with_name(f"{path.stem.removesuffix('_results')}_summary.json")
    beside.write_text(json.dumps(about), encoding="utf-8")
    return beside
