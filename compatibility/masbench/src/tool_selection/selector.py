"""The module in which MASBench has its tool selector."""

from trialbed_masbench import ToolSelector

__all__ = ["ToolSelector"]
