"""Comparing runs: the same queries under two frameworks, models or settings.

``_sides`` and ``_documents`` read, ``_findings`` and ``_factors`` compute, ``_run`` compares the frameworks of one run,
``_differences`` compares several runs, and ``_tables`` shows. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
