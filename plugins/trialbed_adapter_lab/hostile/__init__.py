"""A suite of attacks: agents that crash, hang, forge, flood and leave things behind, run beside an innocent framework.

``run_attacks`` runs them as ``bench run`` would, in a sandbox or without one, and reports the cost of each: its own
trial at most, and no other trial of either framework.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
