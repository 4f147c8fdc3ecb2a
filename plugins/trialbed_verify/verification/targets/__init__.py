"""Targets: models at vendors, and how their requests are made.

``_factories`` makes targets from options or from a configuration file (``_config``), with their addresses and proxies
(``_endpoints``), keys (``_keys``) and drivers. ``_preparation`` turns a line of the test set into a request. Everything
is checked before anything is sent, and nothing here sends.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
