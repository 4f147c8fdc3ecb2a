"""What is kept: rows of cases that have ended, the files that hold them, and what they add up to.

Writing: a case that has ended becomes a row (``_ended``); the row goes into a file that no crash tears (``_journal``,
``_files``), is counted (``_tally``, ``_examples``) and summed up (``_summaries``).

Reading: what a file holds already (``_resumption``), and the rows of any tool's file as far as they are compared
(``_rows``, ``_requested``). Every word that these files use is in ``vocabulary``.

Not here: the comparison of files with each other (``trialbed_verify.comparison``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
