"""StableToolBench's test sets and tool documents, imported from a copy of its repository."""

from trialbed_plugins.datasets.stabletoolbench._driver import StableToolBenchDriver
from trialbed_plugins.datasets.stabletoolbench._source import parse_query, read_document, read_queries

__all__ = ["StableToolBenchDriver", "parse_query", "read_document", "read_queries"]
