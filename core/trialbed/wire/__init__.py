"""The chat-completions protocol: reading, building and asking for completions.

Everything in Trialbed that reads or writes a chat completion does it with this package:

* ``StreamReader`` reads a streamed answer from bytes that may be cut anywhere, ``read_stream`` one that is complete,
  ``read_body`` one that was not streamed. Each gives a ``Reading`` with exactly one outcome, whatever was sent.
* ``Completion`` is written as a document or as the events of a stream.
* ``ChatClient`` sends requests and gives readings.

The names are loaded when they are first used: importing the package loads neither an HTTP client nor a JSON library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
