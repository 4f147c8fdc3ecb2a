"""The panel: a vendor's verdict from many gates, each an unbiased distance with a margin that is set beforehand.

``measure`` reduces a row of results to the values that gates compare; ``judge`` compares both sides case by case;
``plan`` says how many cases a verdict needs. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
