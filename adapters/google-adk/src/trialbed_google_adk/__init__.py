"""Trialbed's adapter for Google's Agent Development Kit: its profiles are the modules ``native`` and ``controlled``."""
