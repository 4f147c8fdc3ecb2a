"""Models that follow a script: their answers are known beforehand, right or wrong.

The public names are loaded when they are first used, so that ``import trialbed_scripted`` stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
