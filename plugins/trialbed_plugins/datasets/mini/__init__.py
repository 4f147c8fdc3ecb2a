"""The embedded dataset: a small invented world, Apis over it, and sixty queries about it.

Everything is data (``tables/``, ``apis/``, ``queries.json``): an Api says which table it reads, which
parameters filter and which columns come back, so that responses are deterministic, consistent with each
other and computed for any arguments. The world is invented so that no model can know the answers.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
