"""Suites: test sets that come with Trialbed, whose cases say what a right answer is.

``_catalog`` has the tools and requests that suites are made of; each suite is a module that makes its cases, always the
same. ``_expectations`` compares an answer with what its case expects, and ``_tally`` sums up. Everything about answers
is a pure function of result rows, so it works on files that exist already.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
