"""Tables of text, written for a terminal, or as Markdown, CSV or a page of HTML.

A view builds a ``Table``; everything else about its looks is here. The names are loaded when they are first used, and
building a table needs no library for writing one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
