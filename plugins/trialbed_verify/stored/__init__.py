"""Verifications in the store: their results files, their report, and the parts of their page.

Core's commands and the pages find this as the component ``verification``, and ask it about runs whose subjects are
endpoints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
