"""The report as a file: JSON whose lines are findings, so that it stays small and its versions can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed_adapter_lab.fidelity._report import FidelityReport

WIDTH = 100
"""Characters of JSON that are written on one line in any case."""

INDENT = "  "


def read_report(path: Path) -> FidelityReport:
    """Read a report that ``bench fidelity --output`` wrote.

    Raises:
        DataError: the file cannot be read, or is not a report.
    """
    try:
        return FidelityReport.model_validate_json(read_bytes(path))
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not the figures of bench fidelity --output: {str(error).splitlines()[0]}") from error


def report_text(report: FidelityReport) -> str:
    """Return the report as JSON text: each entry of a list is a line, but of the frameworks each field is one."""
    document = json.loads(report.model_dump_json())
    frameworks = [_block(_fields(one, INDENT * 3), "{}", INDENT * 2) for one in document.pop("frameworks")]
    lines = [*_fields(document, INDENT), f'{INDENT}"frameworks": {_block(frameworks, "[]", INDENT).lstrip()}']
    return _block(lines, "{}", "") + "\n"


def _fields(value: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield the members of an object, indented, each without the comma behind it."""
    for name, member in value.items():
        yield f"{indent}{_line(name)}: {_write_value(member, indent)}"


def _write_value(value: Any, indent: str) -> str:
    """Return a value, without an indent on its first line."""
    if not value or not isinstance(value, dict | list) or len(_line(value)) <= WIDTH:
        return _line(value)
    if isinstance(value, dict):
        return _block(_fields(value, indent + INDENT), "{}", indent).lstrip()
    return _block([f"{indent}{INDENT}{_line(entry)}" for entry in value], "[]", indent).lstrip()


def _block(lines: Iterable[str], brackets: str, indent: str) -> str:
    """Put lines between brackets, all of it indented."""
    return f"{indent}{brackets[0]}\n" + ",\n".join(lines) + f"\n{indent}{brackets[1]}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
