"""Chat completions: ``POST …/chat/completions``, as OpenAI specified them and as vendors send them.

The names are loaded when they are first used: most readers need neither streams nor a writer.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
