"""The Berkeley Function-Calling Leaderboard: its test sets and its rules of correctness."""

from trialbed_plugins.datasets.bfcl._checker import problem_of
from trialbed_plugins.datasets.bfcl._driver import BfclDriver
from trialbed_plugins.datasets.bfcl._scorer import describe_scores, score_trial
from trialbed_plugins.datasets.bfcl._turns import problem_of_turns
from trialbed_plugins.datasets.bfcl._world import BfclSimulator

__all__ = ["BfclDriver", "BfclSimulator", "describe_scores", "problem_of", "problem_of_turns", "score_trial"]
