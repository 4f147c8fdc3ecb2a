"""The context of scorers, a run's judge and its calibration, and the scores that mean quality.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
