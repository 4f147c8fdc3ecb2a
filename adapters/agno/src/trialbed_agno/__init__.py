"""Trialbed's adapter for Agno: its profiles are the modules ``native`` and ``controlled``."""
