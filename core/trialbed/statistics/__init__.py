"""Estimates over trials, with their uncertainty.

The names are loaded when they are first used, and ``numpy`` by what resamples: a mean with its interval needs neither.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
