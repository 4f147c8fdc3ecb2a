"""Compare the same queries under two frameworks, models or settings.

``_sides`` reads runs and documents, ``_findings`` computes and compares the frameworks of one run, and
``_differences`` compares several runs. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
