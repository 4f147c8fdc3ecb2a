"""Exports of runs to the formats of other tools; ``command`` is ``bench export``."""
