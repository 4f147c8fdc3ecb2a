"""Reporters, drivers of ``trialbed.reporters`` that show reports in different formats."""

from trialbed_plugins.reporters._notes import mean_text
from trialbed_plugins.reporters._reporters import (
    CsvReporter,
    HtmlReporter,
    JunitReporter,
    MarkdownReporter,
    TableReporter,
    run_tables,
)
from trialbed_plugins.reporters._tables import screen_tables

__all__ = [
    "CsvReporter",
    "HtmlReporter",
    "JunitReporter",
    "MarkdownReporter",
    "TableReporter",
    "mean_text",
    "run_tables",
    "screen_tables",
]
