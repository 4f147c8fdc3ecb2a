"""The module in which MASBench loads queries."""

from trialbed_masbench import QueryLoader

__all__ = ["QueryLoader"]
