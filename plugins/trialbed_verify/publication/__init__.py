"""A verification as one page to publish: HTML that needs nothing else, or Markdown.

``_sources`` reads the results files, ``_commands`` says how they were made, ``_evidence`` has answers as they came, and
``_page`` puts all of it together. Everything is read from files and from documents of comparisons; nothing is sent.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
