"""The module in which MASBench has its evaluator."""

from trialbed_masbench import StableToolBenchEvaluator

__all__ = ["StableToolBenchEvaluator"]
