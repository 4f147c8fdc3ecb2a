"""Trialbed's server, with the virtual API, the gateway to models, and the control of trials.

The public names are loaded on first use to keep ``import trialbed_server`` light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
