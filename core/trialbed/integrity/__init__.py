"""All that the wire shows of a trial that bears on whether its scores are the framework's and the model's.

``integrity_findings`` reads one trial, ``framework_integrity`` sums up the trials of a row, and ``unsourced`` says why
an answer is not the trial's. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
