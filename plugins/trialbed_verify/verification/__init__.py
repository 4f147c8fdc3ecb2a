"""Send the same requests to every vendor, and record one outcome for each.

    cases       the test set, a request per line
    config      configuration files with models and vendors
    targets     models at vendors: addresses, keys, settings, and requests made from lines
    exchange    one request and its answer, with times, and the decoding of bodies
    row         the one record of a case, from its answer to the store and to the results file
    sending     the queue of each target, its workers, retries and circuit breaker
    run         the run in the store: found or begun, filled, and written as results and summaries

Each module imports only the ones above it. Other packages use the public names, which are loaded on first use; reading
results needs no HTTP client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
