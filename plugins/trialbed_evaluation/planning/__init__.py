"""``bench plan``: how many queries a difference needs, from the spread of a pilot or for the worst case.

Comparisons are drawn from populations that the pilot leaves open, and get their verdicts. The names are loaded when
they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
