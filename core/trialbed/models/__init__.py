"""The models of a run: named by its settings or objects of the calling program; found, checked, kept and opened.

The names are loaded when they are first used: most runs have no model that is an object.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
