"""Tables of text, and how they are written: for a terminal, as Markdown, as CSV and as a page of HTML.

A view builds a ``Table``; everything else about how it looks is here. The names are loaded when they are first used,
so that building a table needs none of the libraries that write one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
