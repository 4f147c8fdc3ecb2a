"""Ranks vendors by Inverse Rank Fusion over six metrics, with gates and intervals."""

from trialbed_verify.ranking._candidates import METRICS, Candidate, Gates
from trialbed_verify.ranking._files import FileOptions, candidates, marked_baselines, read_sources
from trialbed_verify.ranking._irf import average_ranks, irf
from trialbed_verify.ranking._rank import RankOptions, rank
from trialbed_verify.ranking._table import read_table
from trialbed_verify.ranking._verified import VerifiedFile, compare_and_rank

__all__ = [
    "METRICS",
    "Candidate",
    "FileOptions",
    "Gates",
    "RankOptions",
    "VerifiedFile",
    "average_ranks",
    "candidates",
    "compare_and_rank",
    "irf",
    "marked_baselines",
    "rank",
    "read_sources",
    "read_table",
]
