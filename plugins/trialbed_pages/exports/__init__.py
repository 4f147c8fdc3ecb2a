"""Exports of runs to the formats of other tools.

``_lines`` writes a JSON object for each trial, ``_spans`` OpenTelemetry's spans, and ``_stabletoolbench`` a folder for
that benchmark's evaluators; ``command`` is ``bench export``.
"""
