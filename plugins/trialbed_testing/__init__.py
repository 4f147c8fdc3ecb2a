"""Tests of agents under pytest: trials with scripted, recorded and real models, and assertions on what the wire saw.

plugin   the fixture ``trialbed``, the marker and the options

The names are loaded when they are first used, since every pytest run loads the plugin.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
