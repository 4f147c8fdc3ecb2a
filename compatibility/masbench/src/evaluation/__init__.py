"""The names of MASBench's evaluation."""

from trialbed_masbench import EvaluatorLoader, StableToolBenchEvaluator

__all__ = ["EvaluatorLoader", "StableToolBenchEvaluator"]
