"""Reporters: views of result documents; each is a driver of ``trialbed.reporters``."""

from trialbed_plugins.reporters._reporters import CsvReporter, MarkdownReporter, TableReporter

__all__ = ["CsvReporter", "MarkdownReporter", "TableReporter"]
