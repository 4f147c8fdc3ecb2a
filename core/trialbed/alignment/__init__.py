"""Aligns the calls of a trial with the query's gold calls, argument by argument."""

from trialbed.alignment._arguments import ArgumentMatch, compare_arguments
from trialbed.alignment._gold import AlignedCall, align_gold_calls

__all__ = ["AlignedCall", "ArgumentMatch", "align_gold_calls", "compare_arguments"]
