"""What the user asks for: models at vendors, how their requests are made, and how many are sent at a time.

From options or a configuration file to targets: addresses, keys and proxies, the drivers of vendors and models, and the
request that a line of the test set becomes. All of it is checked before anything is sent, and nothing here sends.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
