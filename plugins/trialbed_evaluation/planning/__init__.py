"""``bench plan``: how many queries a difference needs, from the spread of a pilot or for the worst case.

``_power`` has the theory: the chance that a comparison finds a difference; ``_plan`` applies it to runs; ``command``
prints it. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
