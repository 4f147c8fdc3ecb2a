"""Trialbed's adapter for smolagents: its profiles are the modules ``native`` and ``controlled``."""
