"""Comparing runs: the same queries under two frameworks, models or settings.

``_sides`` reads what was measured, ``_differences`` computes, ``_tables`` shows, and ``_comparer`` is the driver.
"""

from trialbed.comparison._comparer import RunComparer

__all__ = ["RunComparer"]
