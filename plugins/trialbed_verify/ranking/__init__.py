"""Ranks vendors by Inverse Rank Fusion over six metrics, with gates and intervals."""

from trialbed_verify.ranking._candidates import METRICS, Gates, VendorMetrics
from trialbed_verify.ranking._files import FileOptions, candidates, marked_baselines, read_named
from trialbed_verify.ranking._irf import average_ranks, irf
from trialbed_verify.ranking._rank import rank
from trialbed_verify.ranking._rank_files import is_rank_folder, read_rank_files, write_rank_files
from trialbed_verify.ranking._records import Placing, Ranking, RankOptions, Standings
from trialbed_verify.ranking._table import read_table
from trialbed_verify.ranking._verified import ModelComparison, VerifiedRows, VerifiedVendors, compare_and_rank

__all__ = [
    "METRICS",
    "FileOptions",
    "Gates",
    "ModelComparison",
    "Placing",
    "RankOptions",
    "Ranking",
    "Standings",
    "VendorMetrics",
    "VerifiedRows",
    "VerifiedVendors",
    "average_ranks",
    "candidates",
    "compare_and_rank",
    "irf",
    "is_rank_folder",
    "marked_baselines",
    "rank",
    "read_named",
    "read_rank_files",
    "read_table",
    "write_rank_files",
]
