"""Trialbed's adapter for the Microsoft Agent Framework, with the profiles ``native`` and ``controlled`` as modules."""
