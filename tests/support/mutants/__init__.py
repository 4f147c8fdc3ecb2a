"""Adapters that do harm in one place each: they measure how much the conformance kit sees.

They were written from what agent frameworks do, before the checks were read.
"""

from support.mutants import answers, calls, failures, messages, mixtures, outside, results, settings
from support.mutants._mutant import MUTANTS, Mutant

__all__ = ["MUTANTS", "THEMES", "Mutant"]

THEMES = (messages, settings, calls, results, answers, failures, outside, mixtures)
