"""Exports of runs to the formats of other tools.

``_lines`` writes a JSON object for each trial, ``_spans`` OpenTelemetry's spans, and ``_parquet`` a table of the
scores; ``command`` is ``bench export``.
"""
