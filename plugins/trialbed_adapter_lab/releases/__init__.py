"""Releases: one framework's behaviour over its releases, and the changes between neighbours.

The kit runs on each release in its own environment. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
