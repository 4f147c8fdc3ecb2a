"""Fidelity: the effect of each framework on the traffic between model and tools, measured at the wire.

``measure`` makes a report (``_report``). ``traffic`` and ``behaviour`` measure its parts: they run scenarios of the
harness and compare the requests with ``reading``. Each may raise ``NotMeasured``. ``views`` shows a report.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
