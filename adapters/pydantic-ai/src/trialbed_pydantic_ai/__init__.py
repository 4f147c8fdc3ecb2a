"""Trialbed's adapter for Pydantic AI, with the profiles ``native`` and ``controlled`` as modules."""
