"""What every vendor is asked, and when a call fits what was declared.

The test set, line by line, with an identity for each that does not depend on its place; the JSON Schemas of the tools
that a line declares, and the verdict on a call's arguments.

Not here: what is changed in a line for a model or a vendor (``targets``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
