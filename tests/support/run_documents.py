"""Result documents of runs with known figures."""

from __future__ import annotations

from typing import Any


def document(name: str = "reference", **more: Any) -> dict[str, Any]:
    summary = {
        "total_trials": 20,
        "error_count": 0,
        "errors": {},
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
        "claims": {"invented": 0, "unreported": 0},
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
        "deviations": [],
    }
    return {
        "metadata": metadata | {key: value for key, value in more.items() if key in metadata},
        "summary": summary | {key: value for key, value in more.items() if key not in metadata},
    }
