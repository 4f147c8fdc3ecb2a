"""Ranks vendors by Inverse Rank Fusion over six metrics, with gates and intervals."""

from trialbed_verify.ranking._ranks import (
    METRICS,
    Gates,
    Placing,
    Ranking,
    RankOptions,
    Standings,
    VendorMetrics,
    average_ranks,
    irf,
    rank,
)
from trialbed_verify.ranking._sources import (
    FileOptions,
    candidates,
    is_rank_folder,
    marked_baselines,
    read_named,
    read_rank_files,
    read_table,
    write_rank_files,
)
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
