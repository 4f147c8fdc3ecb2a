"""What is kept: rows of cases that have ended, the files that hold them, and what they add up to.

Writing: a case that has ended becomes a row (``_ended``); the row goes into a file that no crash tears (``_journal``,
``_files``), is counted (``_tally``, ``_examples``) and summed up (``_summaries``, ``_sheets``).

Reading: what a file holds already (``_resumption``), and the rows of any tool's file as far as they are compared
(``_rows``, ``_requested``). Every word that these files use is in ``vocabulary``.

Not here: the comparison of files with each other (``trialbed.comparison``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.verification.results._ended import Ended, result_row
    from trialbed.verification.results._files import check_files
    from trialbed.verification.results._journal import Journal, Key, Row
    from trialbed.verification.results._resumption import kept_answers, tally_of
    from trialbed.verification.results._rows import ANSWERS, Decision, ResultRow, RowReader
    from trialbed.verification.results._sheets import verification_records, verification_sheets
    from trialbed.verification.results._summaries import Invocation, summary, write_summary
    from trialbed.verification.results._tally import Tally

_HOMES = {
    "_ended": ("Ended", "result_row"),
    "_files": ("check_files",),
    "_journal": ("Journal", "Key", "Row"),
    "_resumption": ("kept_answers", "tally_of"),
    "_rows": ("ANSWERS", "Decision", "ResultRow", "RowReader"),
    "_sheets": ("verification_records", "verification_sheets"),
    "_summaries": ("Invocation", "summary", "write_summary"),
    "_tally": ("Tally",),
}

__all__ = [
    "ANSWERS",
    "Decision",
    "Ended",
    "Invocation",
    "Journal",
    "Key",
    "ResultRow",
    "Row",
    "RowReader",
    "Tally",
    "check_files",
    "kept_answers",
    "result_row",
    "summary",
    "tally_of",
    "verification_records",
    "verification_sheets",
    "write_summary",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
