"""Processes in which trials are scored, so that no text and no plugin can hold up a run."""

from trialbed.scoring_process._pool import JudgeOrder, ScoringProcesses, with_criteria

__all__ = ["JudgeOrder", "ScoringProcesses", "with_criteria"]
