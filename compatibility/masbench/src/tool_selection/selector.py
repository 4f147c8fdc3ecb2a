"""MASBench's module with the tool selector."""

from trialbed_masbench import ToolSelector

__all__ = ["ToolSelector"]
