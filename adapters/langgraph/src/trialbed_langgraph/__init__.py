"""Trialbed's adapter for LangGraph: its profiles are the modules ``native`` and ``controlled``."""
