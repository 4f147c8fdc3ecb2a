"""StableToolBench's test sets and tool documents, imported from a copy of its repository."""

from trialbed_plugins.datasets.stabletoolbench._driver import StableToolBenchDriver

__all__ = ["StableToolBenchDriver"]
