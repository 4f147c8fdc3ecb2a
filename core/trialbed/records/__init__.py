"""Frozen records for the data that passes between the parts of Trialbed, and its vocabulary.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
