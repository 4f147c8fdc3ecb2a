"""Result documents of runs with known figures."""

from __future__ import annotations

from typing import Any


def document(name: str = "reference", **more: Any) -> dict[str, Any]:
    summary = {
        "total_trials": 20,
        "answered_count": 20,
        "failed_count": 0,
        "not_measured_count": 0,
        "error_count": 0,
        "errors": {},
        "failures": [],
        "solved_count": 15,
        "unsure_count": 2,
        "unsolved_count": 3,
        "average_sopr_score": 0.8,
        "average_total_tokens": 123456.7,
        "average_model_turns": 3.25,
        "average_wall_time": 0.01234,
        "average_gold_answer_time": None,
        "average_system_answer_time": 1.0,
        "average_evaluation_time": 1.0,
        "medians": {"total_tokens": 1.0, "model_turns": 3.0, "wall_time": 1.0},
        "denominators": {"sopr_score": 20, "total_tokens": 20, "model_turns": 20, "wall_time": 20, "solved": 20},
        "intervals": {"sopr_score": [0.584, 0.919]},
        "interval_level": 0.95,
        "untold_scores": {},
        "untold_reasons": [],
        "quality_scores": ["sopr_score"],
        "over_answered": {"trials": 20, "averages": {"sopr_score": 0.8}, "denominators": {}, "intervals": {}},
        "common": None,
        "quartiles": {"wall_time": [0.5, 1.5]},
        "first_trials": {"count": 0, "kept_apart": False, "averages": {}},
        "claims": {
            "invented": 0,
            "unreported": 0,
            "unasked": 0,
            "tokens": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
            "turns": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
        },
        "finish_reasons": {"stop": 20},
        "truncated": {"answers": 0, "trials": 0},
        "text_calls": {"calls": 0, "trials": 0},
        "refused_requests": {"requests": 0, "trials": 0},
        "totals": {"model_requests": 40},
        "repeated": {"trials": 0, "replaced": 0},
    }
    metadata = {
        "agent_name": name,
        "framework_version": "1.2.3",
        "test_set": "mini",
        "num_queries": 20,
        "model": "scripted:gold",
        "evaluator_model": "rule",
        "selector": "query",
        "seed": 0,
        "run_id": "r1",
        "status": "finished",
        "max_tokens": None,
        "deviations": [],
    }
    results = more.pop("results", [])
    return {
        "metadata": metadata | {key: value for key, value in more.items() if key in metadata},
        "summary": summary | {key: value for key, value in more.items() if key not in metadata},
        "results": results,
    }


def reason(kind: str, count: int, status: str = "failed", **more: Any) -> dict[str, Any]:
    """Why trials ended without an answer, as a summary has it."""
    found = {"kind": kind, "status": status, "count": count, "message": f"a {kind}", "query_id": 7}
    return {**found, "repeat": 0, "entry": 6, **more}
