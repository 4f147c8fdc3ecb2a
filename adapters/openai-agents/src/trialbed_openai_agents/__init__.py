"""Trialbed's adapters for the OpenAI Agents SDK: ``native`` and ``controlled``. Neither profile imports the other."""
