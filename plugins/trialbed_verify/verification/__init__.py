"""Vendor verification: the same requests to every vendor, and one terminal outcome for each.

Here is the work itself: a run brings every case to every target (``_run``, ``_turns``; ``_work`` and ``_sender`` for
one target, ``_sessions`` for its connections), leaves alone what only fails (``_retries``), and sees that the times
it measures are not its own (``_pacer``, ``_lag``). It stands on four parts, of which each imports only those above it:

    wire      one request and its answer
    cases     what is asked: the test set and the tools that it declares
    targets   of whom it is asked and how: models, vendors, addresses, keys, settings
    results   what is kept: rows, the files that hold them, and summaries

Whoever is outside a part uses its public names. They are loaded when they are first used: who reads results needs no
HTTP client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
