"""Detect faults and oddities of a vendor's answer, by the specification, the request or plausibility.

``findings`` returns the recorded findings of a result row, or examines the row if it has none recorded; files of other
tools and earlier versions thus have findings too. ``examine`` ignores recorded findings. ``KINDS`` defines each kind:
its gate, its severity and its meaning.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
