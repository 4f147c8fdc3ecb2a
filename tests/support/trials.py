"""Configurations of runs, and trials that have ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from trialbed.records import (
    COMMON_NAME,
    Answer,
    ApiCall,
    Failure,
    FailureKind,
    ModelCall,
    Outcome,
    Run,
    RunCell,
    RunConfig,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cells_of(
    *labels: str, model: str = "scripted:gold", temperature: float | None = None, max_tools: int = 120
) -> tuple[RunCell, ...]:
    """Cells of these frameworks, with one model."""
    own = {"model": model, "told_model": COMMON_NAME, "temperature": temperature, "max_tools": max_tools}
    return tuple(RunCell(label=label, framework=label, **own) for label in labels)


def run_config(*cells: RunCell, frameworks: Iterable[str] = ("reference",), **fields: Any) -> RunConfig:
    """A run of the reference agent over two queries, except for these fields.

    Args:
        cells: its cells.
        frameworks: of its cells, if none are given; they have the model, temperature and number of tools given here.
    """
    own = {name: fields.pop(name) for name in ("model", "temperature", "max_tools") if name in fields}
    defaults = {
        "cells": cells or cells_of(*frameworks, **own),
        "adapter_versions": {"reference": "trialbed 0.1.0"},
        "dataset": "mini",
        "test_set": "mini",
        "dataset_digest": "d",
        "query_ids": (1, 2),
        "trialbed_version": "0.1.0",
    }
    return RunConfig(**defaults | fields)


def changed_config(config: RunConfig, **changes: Any) -> RunConfig:
    """A configuration with other settings, also of all its cells; ``frameworks`` are those of its cells."""
    cells = cells_of(*changes.pop("frameworks", config.frameworks), model=config.cells[0].model)
    own = {name: changes.pop(name) for name in RunCell.model_fields if name in changes}
    own |= {"told_model": changes["model_name"]} if "model_name" in changes else {}
    return config.model_copy(update={"cells": tuple(cell.model_copy(update=own) for cell in cells), **changes})


def run_of(config: RunConfig, run_id: str = "r", **fields: Any) -> Run:
    """A finished run of this configuration, except for these fields."""
    defaults = {"config_digest": "d", "status": "finished", "created_at": NOW, "environment_digest": "e"}
    return Run(run_id=run_id, config=config, **defaults | fields)


def ended(kind: FailureKind | None = None, message: str = "refused") -> TrialResult:
    """A trial that failed in this way, or did not fail."""
    failure = Failure(kind=kind, message=message) if kind else None
    return TrialResult(
        trial="token-token",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOW, wall_time=1, failure=failure),
        wire=WireLog(trial="token-token", opened_at=NOW),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
    )


VALUES = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}


def verdict(label: str | None, reason: str = "") -> Score:
    """A judge's score with this label, or without a verdict."""
    failure = None if label else Failure(kind="judge", message=reason or "no verdict")
    detail = {"reason": reason}
    return Score(name="sopr_score", value=VALUES[label] if label else None, label=label, detail=detail, failure=failure)


def trial_of(
    query_id: int | str = 1,
    repeat: int = 0,
    kind: FailureKind | None = None,
    scores: Iterable[Score] = (),
    *,
    framework: str = "reference",
    message: str = "it died",
    first: bool = False,
    wall: float = 1.0,
    model_calls: Iterable[ModelCall] = (),
    api_calls: Iterable[ApiCall] = (),
    wire: dict[str, Any] | None = None,
    answer: dict[str, Any] | None = None,
    **fields: Any,
) -> TrialResult:
    """A trial with these calls and scores.

    Args:
        kind: how it failed; None if it has an answer.
        wire, answer: further fields of its wire log and of its answer.
        **fields: further fields of the result.
    """
    token = f"token-{framework}-{query_id}-{repeat}"
    failure = Failure(kind=kind, message=message) if kind else None
    said = None if failure else Answer(**{"final_answer": "42", "finish": "give_answer"} | (answer or {}))
    calls = {"model_calls": tuple(model_calls), "api_calls": tuple(api_calls)}
    return TrialResult(
        trial=token,
        key=TrialKey(framework=framework, query_id=query_id, repeat=repeat),
        seed=0,
        outcome=Outcome(started_at=NOW, wall_time=wall, answer=said, failure=failure, first=first),
        wire=WireLog(trial=token, opened_at=NOW, **calls | (wire or {})),
        scores=tuple(scores),
        **{"timing": Timing(wall=wall, model=0, tool=0, framework=wall), "selected_tools": (), **fields},
    )
