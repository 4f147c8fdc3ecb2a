"""Trialbed's adapter for the Microsoft Agent Framework: its profiles are the modules ``native`` and ``controlled``."""
