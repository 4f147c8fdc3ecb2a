"""Reporters: views of reports; each is a driver of ``trialbed.reporters``."""

from trialbed_plugins.reporters._notes import mean_text
from trialbed_plugins.reporters._reporters import (
    CsvReporter,
    HtmlReporter,
    JunitReporter,
    MarkdownReporter,
    TableReporter,
)
from trialbed_plugins.reporters._tables import tag_tables

__all__ = [
    "CsvReporter",
    "HtmlReporter",
    "JunitReporter",
    "MarkdownReporter",
    "TableReporter",
    "mean_text",
    "tag_tables",
]
