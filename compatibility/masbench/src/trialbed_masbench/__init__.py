"""MASBench's public names, with Trialbed behind them.

They are loaded when they are first used, so that ``bench --help``, which loads the command, stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
