"""Fidelity: the effect of each framework on the traffic between model and tools, measured at the wire.

``measure`` makes a report (``_report``) from options (``_options``). It stands on three parts:

    reading       how the requests of a framework are read and compared; it runs no trial
    harness       scenarios, and the server and workers that they run on
    measurements  the parts of a report, on those two, which are independent of one another

Code outside a part uses its public names. Each part may raise that something was not measured (``_not_measured``).

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
