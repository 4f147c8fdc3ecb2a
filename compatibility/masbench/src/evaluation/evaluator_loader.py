"""MASBench's module with the loader of its evaluator."""

from trialbed_masbench import EvaluatorLoader

__all__ = ["EvaluatorLoader"]
