"""Result files of vendors as pages of ``bench view``: their answers, how they differ, and the ranks.

``_viewer`` is the driver; ``_vendors`` has the figures of each vendor, and ``_judged`` comparisons and ranks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
