"""Scores of a trial: the context of a scorer, the score of the run's judge, and the scores that mean quality."""

from trialbed.scoring._context import ScoreContext
from trialbed.scoring._judged import JUDGED, judge_label, judged_score
from trialbed.scoring._quality import ALWAYS, quality_scores

__all__ = ["ALWAYS", "JUDGED", "ScoreContext", "judge_label", "judged_score", "quality_scores"]
