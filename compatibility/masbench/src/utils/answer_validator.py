"""MASBench's module to check answers."""

from trialbed_masbench import AnswerValidator

__all__ = ["AnswerValidator"]
