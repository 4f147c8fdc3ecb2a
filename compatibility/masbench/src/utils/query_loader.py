"""MASBench's module to load queries."""

from trialbed_masbench import QueryLoader

__all__ = ["QueryLoader"]
