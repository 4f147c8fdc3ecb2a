"""The module in which MASBench checks answers."""

from trialbed_masbench import AnswerValidator

__all__ = ["AnswerValidator"]
