"""Trialbed's adapter for LangGraph, with the profiles ``native`` and ``controlled`` as modules."""
