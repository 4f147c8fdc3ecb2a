"""Isolated environments for frameworks with dependencies that exclude one another.

uv resolves and installs them. An environment is named for its lock, complete when it becomes visible, and never
changed. So runs may share it, and a run that records a lock records exactly what it ran with.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
