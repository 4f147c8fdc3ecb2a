"""The name of MASBench's tool selector."""

from trialbed_masbench import ToolSelector

__all__ = ["ToolSelector"]
