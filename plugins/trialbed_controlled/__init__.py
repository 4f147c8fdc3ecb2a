"""The common part of controlled profiles, with equal requests for all frameworks and one way to read answers.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
