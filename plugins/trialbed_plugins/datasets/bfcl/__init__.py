"""The Berkeley Function-Calling Leaderboard: its test sets and its rules of correctness.

The names are loaded when they are first used, but for the hooks of its scorer, which every run looks for.
"""

import lazy_loader

from trialbed_plugins.datasets.bfcl._scorer import describe_scores, score_trial  # noqa: F401 - found by pluggy

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
