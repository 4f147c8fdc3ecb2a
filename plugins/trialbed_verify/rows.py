"""Read rows of vendors' results, from this or another tool, in a results file or the store."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import orjson

from trialbed.errors import DataError
from trialbed.files import LARGEST_FILE, read_bytes, read_lines
from trialbed.wire import dump_json, lenient_json, parse_json
from trialbed.wire.dialects.chat_completions import answered_calls, first_choice, first_message, problem_of
from trialbed_verify.call_schemas import all_valid, call_verdicts

if TYPE_CHECKING:
    from trialbed.records import EndpointInfo
    from trialbed.store import StoredRun, VerifiedCase

Body = Mapping[str, Any]

UNKNOWN = "unknown_failure"
"""The problem of a failed row without a reason from its tool."""

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


class PlacedRow(NamedTuple):
    """A row, its number from 1, and its location for reading it again; truncated lines have no row."""

    number: int
    place: Any
    row: Body | None


@dataclass(frozen=True)
class FileRows:
    """The rows of a results file; a place is the offset of a row in bytes."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def file_name(self) -> str:
        """The name of the file, without its folder."""
        return self.path.name

    def __iter__(self) -> Iterator[PlacedRow]:
        offset = 0
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(read_lines(file), 1):
                    if not line.isspace():
                        yield PlacedRow(number, offset, self._parse(number, line))
                    offset += len(line)
        except OSError as error:
            raise DataError(f"{self}: cannot be read: {error.strerror}") from error

    def _parse(self, number: int, line: bytes) -> Body | None:
        try:
            row = _parse_json(line)
        except (ValueError, RecursionError) as error:
            if not line.endswith(b"\n"):
                return None
            said = f"not JSON ({error}); a results file has one JSON object per line"
            raise DataError(f"{self}, line {number}: {said}") from error
        if not isinstance(row, dict) or "status" not in row:
            said = "not a result row, as it has no status; name a file that bench verify wrote"
            raise DataError(f"{self}, line {number}: {said}")
        return settle_row(row)

    def row_at(self, place: Any) -> Body:
        """Return the row that begins at this byte; empty if missing."""
        row = _read_object(self.path, place, LARGEST_FILE)
        return settle_row(row) if row else {}

    def describe(self, place: Any) -> dict[str, Any]:
        """Return the file, and the offset of the row."""
        return {"file": str(self), "offset": place}

    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{self}: cannot be read: {error.strerror}") from error

    def about(self, config: str | None, /) -> Body:
        """Return the facts about the vendor with this configuration digest; empty if unknown.

        They come from the summary in the same folder. ``is_baseline`` marks the baseline of its model, and
        ``provenance`` has the test set, the configuration, the prices and the options of the rows.
        """
        stem = self.path.name.removesuffix(".jsonl").removesuffix("_results")
        for name in (f"{stem}_summary.json", f"{stem}-summary.json", "summary.json"):
            with suppress(OSError):
                found = lenient_json(read_bytes(self.path.with_name(name)))
                about = object_in(found, "provenance") if isinstance(found, dict) else {}
                if config is not None and about.get("configuration_digest") == config:
                    return dict(found)
        return {}

    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are in the same file, or in the run that the file was written from."""
        return self.path.samefile(other.path) if isinstance(other, FileRows) else other.is_same(self)


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The rows of an endpoint in a run; a place is a line of the test set and a trial number.

    They are called RUN/VENDOR, and can be read while the store is open.
    """

    run: StoredRun
    endpoint: EndpointInfo

    def __str__(self) -> str:
        return f"{self.run.run_id}/{self.endpoint.label}"

    @property
    def file_name(self) -> str:
        """The name of the file that was written, if one was."""
        if self.endpoint.exports:
            return Path(self.endpoint.results).name
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', str(self))}_results.jsonl"

    def __iter__(self) -> Iterator[PlacedRow]:
        from trialbed.store import verified_cases

        cases = enumerate(verified_cases(self.run, self.endpoint.label), 1)
        return (PlacedRow(number, place, parse_json(row_line(case))) for number, (place, case) in cases)

    def row_at(self, place: Any) -> Body:
        """Return the row of a case and trial; empty if missing."""
        from trialbed.store import verified_case

        case = verified_case(self.run, self.endpoint.label, place)
        return {} if case is None else parse_json(row_line(case))

    def describe(self, place: Any) -> dict[str, Any]:
        """Return the run and vendor, the line and the trial."""
        return {"run": str(self), "line": place[0], "trial": place[1]}

    def about(self, _: str | None, /) -> Body:
        """Return the facts of the endpoint."""
        return {name: getattr(self.endpoint, name) for name in ("is_baseline", "provenance", "not_sent")}

    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are of the same endpoint of the same run, or in a file that was written of it."""
        if isinstance(other, FileRows):
            return other.digest() in self.endpoint.exports
        return isinstance(other, StoredRows) and str(self) == str(other)


VendorRows: TypeAlias = FileRows | StoredRows
"""The rows of one or several vendors; ``str`` returns their name."""

FIRST_LINE = 4 * 2**20
"""Bytes read to recognise a file."""


def first_row(path: Path) -> Body:
    """Return the first row of a file, or an empty object. At most ``FIRST_LINE`` bytes are read."""
    return _read_object(path, 0, FIRST_LINE)


def _read_object(path: Path, place: int, most: int) -> Body:
    """Return the object in a line of at most ``most`` bytes; empty if there is no object."""
    with suppress(OSError, ValueError, RecursionError), path.open("rb") as file:
        file.seek(place)
        row = _parse_json(file.readline(most))
        return row if isinstance(row, dict) else {}
    return {}


def _parse_json(line: bytes) -> Any:
    """Return the value of a line; ValueError or RecursionError if it is not JSON."""
    try:
        return orjson.loads(line)
    except ValueError:
        # Other tools write NaN; lone surrogates and great numbers are JSON that the standard library alone reads.
        return json.loads(line)


def object_in(source: Body, key: str) -> dict[str, Any]:
    """Return the object under a key; empty for anything else."""
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def text_in(source: Body, key: str) -> str | None:
    """Return the text under a key; None for an empty one and for anything else."""
    value = source.get(key)
    return intern(value) if isinstance(value, str) and value else None


def settle_row(row: Body) -> Body:
    """Return a row with its outcome, which for another tool's row follows from the response instead of its columns.

    ``stated`` keeps the columns of the other tool. They count if the row has no message, or no tools to check calls
    against, as some publish rows without texts.
    """
    if text_in(row, "outcome"):
        return row
    response, finish = object_in(row, "response"), text_in(row, "finish_reason")
    found = {**row, "stated": (finish, row.get("tool_calls_valid"))}
    if row.get("status") != "success":
        kind, message = text_in(response, "error_type") or UNKNOWN, text_in(response, "error_message") or ""
        return {**found, "outcome": UNKNOWN, "problem": {"kind": kind, "message": message}}
    choice, request = first_choice(response), sent_request(row)
    finish = ("prompt" not in request and text_in(choice, "finish_reason")) or finish
    is_empty = bool({"choices", "error"} & response.keys()) or ("response" in row and not response)
    is_shown = shows_message(choice) if choice else is_empty
    seen = choice if is_shown else {"text": ""}
    problem = problem_of({**response, "choices": [{**seen, "finish_reason": finish}] if seen else []})
    if problem:
        return {**found, "outcome": "protocol_error", "problem": problem.as_json(), "finish_reason": None}
    found |= {"outcome": finish if finish in ("tool_calls", "stop") else "other", "finish_reason": finish}
    if (shown := first_message(response)) and (tools := offered_tools(request)):
        found["calls"] = call_verdicts(answered_calls(shown), tools)
        found["tool_calls_valid"] = all_valid(found["calls"]) if finish == "tool_calls" else None
    return found


def shows_message(choice: Body) -> bool:
    """Return whether a choice has a message (of any type) or a text; some tools publish rows without them."""
    return not {"message", "text"}.isdisjoint(choice)


def offered_tools(request: Body) -> list[Any]:
    """Return the tools that a request offers; the functions of a legacy one are tools, too."""
    tools, functions = request.get("tools"), request.get("functions")
    legacy = functions if isinstance(functions, list) else []
    return tools if isinstance(tools, list) and tools else [{"type": "function", "function": one} for one in legacy]


def sent_request(row: Body) -> dict[str, Any]:
    """Return the complete request of a row, including the extra fields; empty if missing."""
    return {**object_in(row, "request"), **object_in(row, "extra_body")}


def answer_in(response: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the choice that counts, and its message; of a raw completion, its text as one."""
    choice = first_choice(response)
    return choice, object_in(choice, "message") or {"content": choice.get("text")}


def usage_of(response: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens that an answer reports, from the first field that has them."""
    # An answer usually has it in the first one.
    usage = object_in(response, "usage") or object_in(object_in(response, "x_groq"), "usage")
    return usage or object_in(first_choice(response), "usage")


def billed_tokens(usage: Mapping[str, Any]) -> Any:
    """Return the billed completion tokens, including thoughts that only the total contains."""
    if not all(isinstance(usage.get(name), int | float) for name in TOKENS):
        return usage.get("completion_tokens")
    return max(usage["completion_tokens"], usage["total_tokens"] - usage["prompt_tokens"])


def one_line(text: str, longest: int) -> str:
    """Return a text on one line, without control characters, shortened to ``longest`` characters."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return line if len(line) <= longest else f"{line[:longest]}…"


def row_line(case: VerifiedCase) -> bytes:
    """Return the line of a stored case in a results file, with the unchanged texts of its request and response."""
    rest = dict(case.verified)
    head: tuple[Any, ...] = rest.pop("data_index"), case.request.encode()
    head += dump_json(rest.pop("extra_body")), case.response.encode()
    return b'{"data_index":%d,"request":%s,"extra_body":%s,"response":%s,' % head + dump_json(rest)[1:] + b"\n"
