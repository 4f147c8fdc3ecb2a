"""Tool calls that a model asked for, their results, and their agreement with expected calls.

``asked_calls`` reads a trial's calls from the wire, ``compare_calls`` checks the agent's claims against them, and
``align_gold_calls`` finds a call for each expected one. ``align`` and the rules below it compare any calls, for the
metrics. The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
