"""Run trials of an adapter and observe them, against scripted models and Apis.

``Harness`` runs an agent in this process, and sees every request and connection: all probes build on it.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
