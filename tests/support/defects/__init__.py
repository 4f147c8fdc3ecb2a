"""Adapters with one blunt defect each, for the checks that no mutant's report is headed by."""

from support.defects import histories, loop, requests, traces
from support.defects._registry import DEFECTS

__all__ = ["DEFECTS", "THEMES"]

THEMES = (requests, loop, traces, histories)
