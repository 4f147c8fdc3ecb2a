"""Agents, tools and simulators that are objects of this process, as the worker is for agents in processes of their own.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
