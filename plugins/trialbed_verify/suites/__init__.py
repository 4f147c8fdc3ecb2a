"""Test sets that come with Trialbed; their cases define the expected answer.

Each is a data file with one case per line, and ``suites.toml`` names them. ``_expectations`` compares an answer with
the expectations of its case, and ``_summaries`` sums up. Both read only rows of results, so they work on existing
files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
