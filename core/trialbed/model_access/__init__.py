"""Access to a model for selectors, simulators and judges.

The names are loaded when they are first used; reading a model's reply needs no client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
