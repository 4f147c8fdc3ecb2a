"""Scripted models that know the right calls of a query. They are loaded on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
