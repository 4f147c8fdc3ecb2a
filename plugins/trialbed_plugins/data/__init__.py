"""Implement ``bench data``, which lists, imports and shows datasets and imports cached responses."""
