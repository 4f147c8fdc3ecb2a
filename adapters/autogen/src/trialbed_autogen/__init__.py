"""Trialbed's adapter for AutoGen AgentChat; its profiles are ``native`` and ``controlled``."""
