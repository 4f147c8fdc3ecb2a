"""Reporters: views of result documents; each is a driver of ``trialbed.reporters``."""

from trialbed_plugins.reporters._reporters import CsvReporter, HtmlReporter, MarkdownReporter, TableReporter

__all__ = ["CsvReporter", "HtmlReporter", "MarkdownReporter", "TableReporter"]
