"""Suites: test sets that come with Trialbed, whose cases define a right answer.

Each is a file of data with a case a line, and ``suites.toml`` names them. ``_expectations`` compares an answer with the
expectations of its case, and ``_summaries`` sums up. Both read nothing but rows of results, so they work on files that
exist already.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
