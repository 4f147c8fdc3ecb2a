"""Reports of runs as typed records, and the documents and texts that are made of them.

The names are loaded when they are first used: a run of one setup compares nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
