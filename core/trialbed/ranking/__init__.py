"""Ranking vendors by Inverse Rank Fusion over six metrics, with gates before and intervals beside it."""

from trialbed.ranking._candidates import Candidate
from trialbed.ranking._files import FileOptions, candidates
from trialbed.ranking._gates import Gates
from trialbed.ranking._irf import average_ranks, irf
from trialbed.ranking._metrics import METRICS
from trialbed.ranking._rank import RankOptions, rank
from trialbed.ranking._sheets import ranking_records, ranking_sheets
from trialbed.ranking._sources import marked_baselines, read_sources
from trialbed.ranking._standings import Verified, standing_sheets, standings
from trialbed.ranking._table import read_table

__all__ = [
    "METRICS",
    "Candidate",
    "FileOptions",
    "Gates",
    "RankOptions",
    "Verified",
    "average_ranks",
    "candidates",
    "irf",
    "marked_baselines",
    "rank",
    "ranking_records",
    "ranking_sheets",
    "read_sources",
    "read_table",
    "standing_sheets",
    "standings",
]
