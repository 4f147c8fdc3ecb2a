"""Exports of runs to the formats of other tools.

``_stabletoolbench`` writes StableToolBench's converted answers, ``_lines`` a JSON object for each trial, ``_spans``
OpenTelemetry's spans, and ``_parquet`` a table of the scores.
"""

from trialbed.exports._lines import trial_lines
from trialbed.exports._parquet import export_parquet
from trialbed.exports._spans import trial_spans
from trialbed.exports._stabletoolbench import Exported, export_stabletoolbench

__all__ = ["Exported", "export_parquet", "export_stabletoolbench", "trial_lines", "trial_spans"]
