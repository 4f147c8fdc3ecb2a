"""Vendor verification: sends the same requests to every vendor, and records one outcome for each.

The modules here do the work. ``_run`` sends every case to every target, ``_queue`` holds a target's cases, ``_sender``
sends them over the connections of ``_sessions``, ``_retries`` decides about further attempts, and ``_event_loop`` keeps
this process from distorting the times that it measures. ``row`` has the one record of a case, from its answer to the
store. They build on three parts, each of which imports only those above it:

    wire      one request and its answer
    cases     the test set, and the schemas of the tools that it declares
    targets   models, vendors, addresses, keys and settings

Other packages use a part's public names. They are loaded on first use, so that reading results needs no HTTP client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
