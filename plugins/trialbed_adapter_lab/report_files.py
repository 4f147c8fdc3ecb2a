"""Reports as files: JSON whose lines are findings, so that they stay small and their versions can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from trialbed.errors import DataError
from trialbed.files import read_bytes
from trialbed.records import Record

WIDTH = 100
"""Characters of JSON that are written on one line in any case."""

INDENT = "  "

R = TypeVar("R", bound=Record)


def read_report(kind: type[R], path: Path, command: str) -> R:
    """Read a report that a command's ``--output`` wrote.

    Raises:
        DataError: the file cannot be read, or is not a report.
    """
    try:
        return kind.model_validate_json(read_bytes(path))
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a report of {command} --output: {str(error).splitlines()[0]}") from error


def report_text(document: str, unfolded: str = "") -> str:
    """Return a report in JSON with each entry of a long list on a line of its own.

    Args:
        unfolded: the list of whose entries each field has a line.
    """
    return _block(_fields(json.loads(document), INDENT, unfolded), "{}", "") + "\n"


def _fields(value: Mapping[str, Any], indent: str, unfolded: str = "") -> Iterator[str]:
    """Yield the members of an object, indented, each without the comma behind it."""
    for name, member in value.items():
        written = _write_unfolded(member, indent) if name == unfolded and member else _write_value(member, indent)
        yield f"{indent}{_line(name)}: {written}"


def _write_unfolded(value: Iterable[Mapping[str, Any]], indent: str) -> str:
    inner = indent + INDENT
    return _block([_block(_fields(one, inner + INDENT), "{}", inner) for one in value], "[]", indent).lstrip()


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
