"""Ways to choose the Apis that an agent is offered; each is a driver of ``trialbed.selectors``.

The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
