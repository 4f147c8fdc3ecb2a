"""Trialbed's adapter for Agno, with the profiles ``native`` and ``controlled`` as modules."""
