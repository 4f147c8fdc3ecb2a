"""Drivers of ``trialbed.models``, which serve a model for a run."""
