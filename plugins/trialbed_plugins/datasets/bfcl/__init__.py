"""The Berkeley Function-Calling Leaderboard: its single-turn test sets and its rules of what is right."""

from trialbed_plugins.datasets.bfcl._checker import problem_of
from trialbed_plugins.datasets.bfcl._driver import BfclDriver
from trialbed_plugins.datasets.bfcl._scorer import declare_scores, score_trial

__all__ = ["BfclDriver", "declare_scores", "problem_of", "score_trial"]
