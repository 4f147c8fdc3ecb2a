"""Trialbed's adapter for Google's Agent Development Kit, with the profiles ``native`` and ``controlled`` as modules."""
