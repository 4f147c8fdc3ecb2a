"""Models that follow a script. Their answers, right or wrong, are known in advance.

Public names are loaded on first use, which keeps ``import trialbed_scripted`` light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
