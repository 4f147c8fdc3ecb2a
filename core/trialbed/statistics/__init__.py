"""Estimates over trials, with what they can be held to."""

from trialbed.statistics._intervals import Interval, bounded_mean_interval, wilson_interval

__all__ = ["Interval", "bounded_mean_interval", "wilson_interval"]
