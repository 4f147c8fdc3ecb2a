"""Fidelity: what each framework does to the traffic between the model, the tools and the rig, measured at the wire.

``measure`` puts a report together (``_measure``) from what was asked for (``_options``), under which conditions it was
measured (``_conditions``) and what became of it (``_report``). It stands on four parts:

    reading       how the requests of a framework are read and compared; no trial is played here
    stage         what is played before a framework, and what it is played on
    probe         a process that runs a framework's trials and measures itself
    measurements  what a report is made of, on those three, which know nothing of one another

Whoever is outside a part uses its public names. Each part may say that something was not measured (``_not_measured``).

The names are loaded when they are first used: a probe, which measures a framework's memory, must not load the engine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
