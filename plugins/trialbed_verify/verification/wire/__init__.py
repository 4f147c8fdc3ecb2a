"""One request at the wire: how it is sent, when what came back, and what that amounts to.

Whatever an endpoint does becomes a ``Reading`` with exactly one terminal outcome; nothing here raises for it. An answer
is read by a strict state machine, streamed (``_sse``, ``_streams``, ``_assembly``) or whole (``_bodies``).

Not here: how a request is made from a line of the test set (``targets``), when there is another attempt (the run's
retries), and what is kept of an answer (``results``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
