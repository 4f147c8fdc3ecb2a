"""Recordings of models: the answers of a run's model, kept in a file, and replayed to any framework."""
