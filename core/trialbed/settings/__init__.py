"""Settings of a run, each declared once; the files and variables that give them; the folders of state; secrets.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
