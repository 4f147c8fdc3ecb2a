"""The test set.

``_test_set`` reads the cases line by line and gives each an identity that does not depend on its position. Changes to
a request for a model or a vendor are in ``targets``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
