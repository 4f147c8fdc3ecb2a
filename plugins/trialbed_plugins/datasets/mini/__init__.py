"""The embedded dataset with a small invented world, its APIs, and sixty queries about it.

Everything is data (``tables/``, ``apis/``, ``queries.json``). Each API declares its table, the parameters that filter
rows, and the columns to return. Responses are therefore deterministic, consistent with each other, and available for
any arguments. No model can know the answers, since the world is invented.

Names are loaded on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
