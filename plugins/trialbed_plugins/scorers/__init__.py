"""The scores that Trialbed gives every trial: a module for each subject, and the plugin that calls them all."""

from trialbed_plugins.scorers._plugin import CATALOG, describe_scores, score_trial

__all__ = ["CATALOG", "describe_scores", "score_trial"]
