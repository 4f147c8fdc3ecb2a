"""Trialbed's adapter for smolagents, with the profiles ``native`` and ``controlled`` as modules."""
