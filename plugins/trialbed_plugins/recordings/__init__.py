"""Recordings of models: what a run's model answered, kept in a file, and replayed to any framework."""
