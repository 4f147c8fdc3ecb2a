"""Recordings of models. A file stores the answers of a run's model, which can be replayed to any framework.

Names are loaded on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
