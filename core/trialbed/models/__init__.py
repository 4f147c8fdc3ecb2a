"""Find, check, cache and open the models of a run, which settings name or the calling program passes as objects.

The names are loaded when they are first used, since most runs have no model that is an object.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
