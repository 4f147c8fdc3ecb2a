"""A vendor's history: every verification is a dated point, and a sequential test finds changes and since when.

``follow`` tests the points of one vendor. The names are loaded when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
