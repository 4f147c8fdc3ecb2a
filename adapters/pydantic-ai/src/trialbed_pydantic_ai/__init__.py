"""Trialbed's adapter for Pydantic AI: its profiles are the modules ``native`` and ``controlled``."""
