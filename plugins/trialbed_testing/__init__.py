"""Test agents with pytest. Run trials with scripted, recorded and real models, and assert on the recorded traffic.

plugin   the fixture ``trialbed``, the marker and the options

Names are loaded on first use, because every pytest run loads the plugin.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
