"""Trialbed's adapters for CrewAI: ``native`` and ``controlled``. Neither profile imports the other."""
