"""Read conversations and tool calls from any program into one form.

``read_samples`` reads a file and recognises its formats; ``read_messages``, ``read_calls`` and ``read_reference`` read
Python values, such as Ragas's, OpenAI's and LangChain's objects, and mappings of the same form. The names are loaded
when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
