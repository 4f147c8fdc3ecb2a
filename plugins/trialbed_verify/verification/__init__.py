"""Vendor verification: sends the same requests to every vendor, and records one outcome for each.

The modules here do the work. ``_run`` sends every case to every target, ``_queue`` holds a target's cases, ``_sender``
sends them over the connections of ``_sessions``, ``_retries`` decides about further attempts, and ``_event_loop`` keeps
this process from distorting the times that it measures. ``row`` has the one record of a case, from its answer to the
store. They build on these modules:

    cases       the test set, a request per line
    config      configuration files with models and vendors
    targets     models at vendors: addresses, keys, settings, and requests made from lines
    exchange    one request and its answer, with times; ``encodings`` unpacks bodies

Other packages use the public names. They are loaded on first use, so that reading results needs no HTTP client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
