"""Ranking vendors by Inverse Rank Fusion over six metrics, with gates before and intervals beside it."""

from trialbed_verify.ranking._candidates import Candidate
from trialbed_verify.ranking._files import FileOptions, candidates
from trialbed_verify.ranking._gates import Gates
from trialbed_verify.ranking._irf import average_ranks, irf
from trialbed_verify.ranking._metrics import METRICS
from trialbed_verify.ranking._rank import RankOptions, rank
from trialbed_verify.ranking._sources import marked_baselines, read_sources
from trialbed_verify.ranking._standings import Verified, standings
from trialbed_verify.ranking._table import read_table

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
    "read_sources",
    "read_table",
    "standings",
]
