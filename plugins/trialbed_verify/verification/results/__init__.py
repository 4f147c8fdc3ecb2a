"""Results of a verification: rows of completed cases, the files that hold them, and summaries.

A completed case becomes a row (``_completed``), and the row a trial of the store (``_trials``). Results files are
written from there (``_stored``).
``trialbed_verify/findings/kinds.toml`` defines every word that these files use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
