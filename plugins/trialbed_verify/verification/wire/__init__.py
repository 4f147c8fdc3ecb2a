"""Sends one request, and records when each part of its answer arrives.

Whatever an endpoint does becomes a ``Reading`` with exactly one terminal outcome; nothing here raises for it. The
answers are read by ``trialbed.wire``; the transport is this package's own, because it measures times.

Not here: how a request is made from a line of the test set (``targets``), when there is another attempt (the run's
retries), and which parts of an answer are kept (``results``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
