"""Verification, comparison and ranking of vendors as tables and as records.

The names are loaded when they are first used: the tables of a verification need no numpy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
