"""The module in which MASBench has the loader of its evaluator."""

from trialbed_masbench import EvaluatorLoader

__all__ = ["EvaluatorLoader"]
