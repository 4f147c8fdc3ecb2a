"""MASBench's public names, with Trialbed behind them.

They are loaded on first use, because ``bench --help`` loads the command and must stay light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
