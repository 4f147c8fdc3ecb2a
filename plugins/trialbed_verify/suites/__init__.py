"""Test sets that come with Trialbed; their cases define the expected answer.

Each is a data file with one case per line, and ``suites.toml`` names them. Scores read only rows of results, so they
work on existing files.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
