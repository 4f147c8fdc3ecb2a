"""Findings: faults and oddities of a vendor's answer, by the specification, the request or plausibility.

``findings`` gives those of a row of results: as they were written when the answer came, else examined anew, so that
files of other tools and of earlier versions have them too. ``examine`` looks at a row, whatever it already says.
``KINDS`` defines each kind: its gate, its severity and its meaning.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
