"""The tables on the user's view of a model that errs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trialbed.texts import one_line
from trialbed.views import UNKNOWN, Table, TableRow
from trialbed_adapter_lab.fidelity import ErrorFinding, FrameworkFidelity

LONGEST = 160
"""Characters of a text in a table."""

WORDS = {
    "answer": "answer",
    "other text": "text of its own as answer",
    "error text": "error text as answer",
    "tool result": "tool result as answer",
    "empty answer": "empty answer",
    "waits": "waits for ever",
    "worker died": "process died",
}

NO_CALLS = (
    *("arguments cut by the length limit", "arguments that are a list"),
    *("arguments that are a text", "arguments that are encoded twice", "arguments as Python writes them"),
    *("arguments in a fence", "arguments with a comma too many", "a tool's name in another case"),
    *("a tool's name in a namespace", "a call in tags of its text", "a call as its text"),
)
"""Cases in which a framework that makes a call has guessed one."""

HOW_TO_READ = (
    "What the user sees of a model that errs: an answer of the model, another text as the answer, or an exception, "
    "whose type is given as Python writes it. The number is that of requests to the model. “+ 1 refused” is a request "
    "past the trial's limit, by which the framework had not ended."
)


def error_rows(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    """Yield the user's view of each case."""
    yield from _rows(found, _seen_cell)


def error_tables(found: Sequence[FrameworkFidelity], suffix: str) -> list[Table]:
    """Return the texts behind the cells, which are too long for a terminal.

    Args:
        suffix: of the titles.
    """
    columns = ("", *(one.framework for one in found))
    told = [row for row in _rows(found, _result_cell) if any(cell not in ("", UNKNOWN) for cell in row.cells)]
    texts = [
        (finding.case, one.framework, one_line(finding.text, LONGEST))
        for case in _cases(found)
        for one in found
        for finding in one.errors or ()
        if finding.case == case and finding.text and finding.seen != "answer"
    ]
    calls = [row for row in _rows(found, _calls_cell) if row.label in NO_CALLS]
    return [
        Table(f"Calls made of what is none{suffix}", columns, calls),
        Table(f"What the model is told of its call{suffix}", columns, told),
        Table.of(f"Texts of exceptions and answers{suffix}", ("", "framework", "text"), texts),
    ]


def _calls_cell(finding: ErrorFinding) -> str:
    return f"{finding.calls} made" if finding.calls else "none"


def _rows(found: Sequence[FrameworkFidelity], cell: Callable[[ErrorFinding], str]) -> Iterator[TableRow]:
    for case in _cases(found):
        here = [next((finding for finding in one.errors or () if finding.case == case), None) for one in found]
        yield TableRow(case, tuple(UNKNOWN if finding is None else cell(finding) for finding in here))


def _cases(found: Sequence[FrameworkFidelity]) -> list[str]:
    return list(dict.fromkeys(finding.case for one in found for finding in one.errors or ()))


def _seen_cell(finding: ErrorFinding) -> str:
    words = finding.exception if finding.seen == "exception" else WORDS[finding.seen]
    refused = f" + {finding.refused} refused" if finding.refused else ""
    return f"{words} ({finding.requests}{refused})"


def _result_cell(finding: ErrorFinding) -> str:
    return one_line(finding.told, LONGEST) if finding.told and not finding.calls else ""
