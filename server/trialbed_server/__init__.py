"""The server of Trialbed: the virtual API, the gateway to models, and the control of trials.

The public names are loaded when they are first used, so that ``import trialbed_server`` stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
