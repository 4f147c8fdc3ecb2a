"""The scores for every trial, with a module for each subject and a plugin that calls them all."""

from trialbed_plugins.scorers._plugin import CATALOG, describe_scores, score_trial

__all__ = ["CATALOG", "describe_scores", "score_trial"]
