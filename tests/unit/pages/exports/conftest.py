"""A store with two runs: one of two frameworks in which things went wrong, and an older one."""

from support.stored_commands import bench, no_width, stored

__all__ = ["bench", "no_width", "stored"]
