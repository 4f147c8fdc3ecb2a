"""Recordings of models: the answers of a run's model, kept in a file, and given to any framework.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
