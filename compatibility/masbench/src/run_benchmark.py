"""The names of MASBench's ``run_benchmark``."""

from trialbed_masbench import (
    GoldAnswerGenerator,
    QueryLoader,
    StableToolBenchEvaluator,
    ToolSelector,
    calculate_api_call_score,
    extract_called_apis_from_answer_details,
    run_benchmark,
)

__all__ = [
    "GoldAnswerGenerator",
    "QueryLoader",
    "StableToolBenchEvaluator",
    "ToolSelector",
    "calculate_api_call_score",
    "extract_called_apis_from_answer_details",
    "run_benchmark",
]
