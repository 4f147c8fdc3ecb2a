"""Sandboxes for workers: what keeps an adapter that is not trusted from the machine and from the run's data.

An executor starts a worker with what ``launch`` returns. ``check_sandbox`` tries a sandbox before a run depends on it.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
