"""Types, dialects, event streams and a client for requests to models and their answers.

``ModelRequest``, ``ModelMessage``, ``ModelAnswer`` and ``Call`` are the same for all dialects; the modules of
``trialbed.wire.dialects`` read and write them. Any response becomes a ``Reading`` with exactly one outcome.

The names are loaded when they are first used, and importing the package loads neither an HTTP client nor a JSON
library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
