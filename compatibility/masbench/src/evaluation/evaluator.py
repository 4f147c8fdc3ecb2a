"""MASBench's module with the evaluator."""

from trialbed_masbench import StableToolBenchEvaluator

__all__ = ["StableToolBenchEvaluator"]
