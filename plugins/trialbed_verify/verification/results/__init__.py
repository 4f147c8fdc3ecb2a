"""Results of a verification: rows of completed cases, the files that hold them, and summaries.

Writing: a completed case becomes a row (``_completed``), which the store keeps as a trial (``_trials``) and files are
written from (``_stored``), counted (``_tally``) and summarised (``_summaries``). Reading: ``_rows`` reads files of this
tool and of others for comparisons.
``trialbed_verify/findings/kinds.toml`` defines every word that these files use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
