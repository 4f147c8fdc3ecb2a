"""Store runs and trials in a database. The engine writes it, everything else reads it.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
