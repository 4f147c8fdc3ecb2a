"""StableToolBench's test sets and tool documents, imported from a copy of its repository."""

from trialbed_plugins.datasets.stabletoolbench._driver import StableToolBenchDriver
from trialbed_plugins.datasets.stabletoolbench._source import read_document, read_queries

__all__ = ["StableToolBenchDriver", "read_document", "read_queries"]
