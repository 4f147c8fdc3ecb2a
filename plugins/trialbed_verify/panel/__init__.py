"""Judge a vendor by many gates, each an unbiased distance and a predefined margin.

``measure`` reduces a row of results to the values that gates compare, ``judge`` compares both sides case by case, and
``resample_verdict`` estimates how many cases a verdict needs. The names are loaded when they are first used.

    _answers      the measurements of an answer, and the gates that compare them
    _trials       the trials of a case that count, and the values of their calls that repeat
    _distances    the distances between both sides' trials at a gate, and their means
    _verdict      the findings at all gates, the verdict, and its words
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
