"""Judges: graders of answers; each is a driver of ``trialbed.judges``."""
