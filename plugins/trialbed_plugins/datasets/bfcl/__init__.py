"""The Berkeley Function-Calling Leaderboard, with its test sets and its rules of correctness.

Names are loaded on first use, except for the scorer's hooks, which every run needs.
"""

import lazy_loader

from trialbed_plugins.datasets.bfcl._scorer import describe_scores, score_trial  # noqa: F401 - found by pluggy

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
