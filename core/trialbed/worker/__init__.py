"""The worker, a process that runs the trials of one framework, one at a time.

``python -m trialbed.worker --framework NAME`` exchanges JSON lines over its standard streams (``_protocol``); an
executor starts it with ``worker_command`` in ``worker_environment``.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
