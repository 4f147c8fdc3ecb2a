"""Read files of samples, recognise each record's format, and locate faults by file, line and key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trialbed.errors import DataError, NothingMeasured
from trialbed.files import read_text
from trialbed.wire import check_depth, finite_float, json_decoder
from trialbed_evaluation.conversations._messages import (
    CONVENTIONS,
    Sample,
    identity,
    is_conversation,
    is_record,
    kind,
    read_record,
    references,
)
from trialbed_evaluation.conversations._spans import Span, is_export, is_span, read_export, read_span, samples_of

FORMATS: Mapping[str, str] = CONVENTIONS["formats"]
"""Every format that is recognised, and its description."""

NEWLINE = "\n"
NEXT = re.compile(r"[^\s\ufeff]")
"""The beginning of the next value."""

SHOWN_KEYS = 8


def read_samples(path: Path) -> list[Sample]:
    """Return every sample of a file, or of all JSON files in a folder.

    A file holds JSON values, one per line or not, and a list at the top is read as its elements. Each value's format is
    recognised by its keys, so a file may mix formats.

    Raises:
        DataError: something cannot be read, or an id occurs twice in a file; names the file, line and key.
        NothingMeasured: the file or folder is empty.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".json", ".jsonl") and file.is_file())
        if not files:
            raise DataError(f"{path}: the folder has no .json or .jsonl files")
    samples = [sample for file in files for sample in _read(file)]
    if not samples:
        raise NothingMeasured(f"{path}: nothing could be scored, because it has neither conversations nor calls")
    return samples


def read_references(path: Path) -> dict[str, dict[str, Any]]:
    """Read the expected values by sample id, from records with ``id`` and a key such as ``reference``.

    Queries of StableToolBench are such records too; their expected APIs match any arguments.

    Returns:
        id -> fields of a ``Sample``.

    Raises:
        DataError: something cannot be read, or an id occurs twice; names the file, line and key.
    """
    from trialbed_evaluation.conversations import _answers

    found: dict[str, dict[str, Any]] = {}
    for place, value in _records(path):
        if not isinstance(value, Mapping):
            raise DataError(f"{place}: must be an object with id and reference, not {kind(value)}")
        of_query = {"reference": _answers.gold_calls(value, place)} if _answers.is_query(value) else None
        name, fields = identity(value, place), of_query or references(value, place)
        if name == place:
            raise DataError(f"{place}: id: is missing; it says whose reference this is")
        if not fields:
            raise DataError(f"{place}: has no reference, reference_topics or reference_goal")
        if name in found:
            raise DataError(f"{place}: id: {name!r} occurs twice")
        found[name] = fields
    return found


def _read(file: Path) -> list[Sample]:
    samples: list[Sample] = []
    spans: list[Span] = []
    places: dict[str, str] = {}
    for place, value in _records(file):
        for found in _recognise(value, place, file):
            if isinstance(found, Span):
                spans.append(found)
                continue
            samples.append(found)
            # The same sample would count as two, and the intervals of means be too narrow.
            first = places.setdefault(found.id, found.place)
            if first != found.place:
                raise DataError(f"{found.place}: id: {found.id!r} occurs twice, first at {first}")
    return [*samples, *samples_of(spans)]


def _recognise(value: Any, place: str, file: Path) -> Iterable[Sample | Span]:
    if isinstance(value, list):
        if not is_conversation(value):
            raise DataError(f"{place}: is a list, but not one of messages with role and content")
        return [read_record({"messages": value}, place)]
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be an object, not {kind(value)}")
    known = next((words for words, keys in CONVENTIONS["unread"].items() if value.keys() >= set(keys)), "")
    if known:
        raise DataError(
            f"{place}: this is {known}, which is not read. Export OpenTelemetry's spans as OTLP's JSON, or write the "
            "messages of each conversation as a list"
        )
    if is_export(value):
        return read_export(value, place)
    if is_span(value):
        return [read_span(value, place)]
    if is_record(value):
        return [read_record(value, place)]
    if value.get("object") == "trace":  # a span of the Agents SDK that only names its trace
        return []
    # The readers of answers need pydantic's records, which take long to import and a file of calls does not need.
    from trialbed_evaluation.conversations import _answers

    if _answers.is_raw(value):
        return [_answers.read_raw(value, place, file)]
    if _answers.is_answer(value):
        return [_answers.read_graph(value, place, identity(value, file.stem))]
    if _answers.is_converted(value):
        return _answers.read_converted(value, place)
    keys = ", ".join(list(value)[:SHOWN_KEYS]) or "no keys"
    formats = "; ".join(f"{name} ({words})" for name, words in FORMATS.items())
    raise DataError(f"{place}: the format is not recognised; the object has {keys}. Known are {formats}")


def _records(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield ``place, value`` of every value in a file, and of every element of a top-level list."""
    for line, value in _values(file):
        place = f"{file}:{line}"
        key = next((key for key in CONVENTIONS["lists"] if isinstance(value, dict) and key in value), None)
        if key is not None and isinstance(value[key], list) and not is_record(value):
            value = value[key]
        if isinstance(value, list) and not is_conversation(value):
            yield from ((f"{place}[{index}]", item) for index, item in enumerate(value))
        else:
            yield place, value


def _values(file: Path) -> Iterator[tuple[int, Any]]:
    text, strict = read_text(file), json_decoder(finite_float, unique=True)
    line, counted, place = 1, 0, 0
    while begin := NEXT.search(text, place):
        line += text.count("\n", counted, begin.start())
        counted = begin.start()
        try:
            value, place = strict.raw_decode(text, counted)
            check_depth(value, text[counted:place])
        except json.JSONDecodeError as error:
            # A cut text ends with its last character, not on the empty line after it.
            at = min(error.pos, len(text.rstrip()))
            where = f"{text.count(NEWLINE, 0, at) + 1}: column {at - text.rfind(NEWLINE, 0, at)}"
            raise DataError(f"{file}:{where}: is not JSON: {error.msg}") from None
        except RecursionError:
            raise DataError(f"{file}:{line}: is nested too deeply to be read") from None
        except ValueError as error:
            raise DataError(f"{file}:{line}: {error}") from None
        yield line, value
