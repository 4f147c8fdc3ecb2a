"""Tables of answers in one form for the rows of any tool, and the cases that two tables share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePath
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from trialbed.errors import DataError, UsageError
from trialbed.texts import group_by_key, number_of
from trialbed_verify.rows import (
    TOKENS,
    Body,
    PlacedRow,
    VendorRows,
    billed_tokens,
    object_in,
    sent_request,
    text_in,
    usage_of,
)
from trialbed_verify.suites import SuiteRow, suite_row, summarize_suites

if TYPE_CHECKING:
    from trialbed_verify.panel import Measures

ANSWERS = ("tool_calls", "stop", "other")

LARGEST = 1e300
"""Larger values cannot be added up; the comparison excludes ``nan`` too."""

CONTENT = ("messages", "prompt", "suffix", "tools", "functions", "tool_choice", "function_call", "response_format")
"""The content of a request. All other keys are settings, or the vendor's."""

OF_THE_VENDOR = frozenset(("model", "stream", "stream_options", "provider", "user", "metadata"))
"""Keys that may differ between vendors of one model."""

TEXTS = ("config", "vendor", "model", "finish_reason")

SHOWN = 5
"""Number of lines listed in an error."""


class Requested(NamedTuple):
    """A request, reduced to the parts that must agree between vendors.

    Attributes:
        content: (part, digest) of each content part, in a fixed order.
        settings: temperature, limits and everything else that changes answers, as canonical JSON.
    """

    content: tuple[tuple[str, str], ...]
    settings: str


NOTHING = Requested((), "{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """The fields of a result row that are counted and compared; unknown ones are None.

    Attributes:
        line, place: 1-based number of the row in its source, and its location for reading it again.
        data_index, case: 1-based line in the test set, and its identity.
        trial: 0-based number among the case's repeats.
        config: digest of the configuration.
        vendor, model, asked_model: as named by the row, and the model of the request.
        outcome: how the case ended; for a row of another tool it follows from the status and the response.
        problem: the kind of a failure.
        stated: finish reason and validity from the row's own columns, for K2-style figures.
        valid: whether all tool calls fit their schemas, None if unknown.
        calls: (whether it fits, reasons) of each call, None if the row has none.
        tokens: the total, computed if the answer reports the parts only.
        at, served: when the case ended; model, fingerprint and provider that the answer names.
        notes, findings: kinds; empty in a table for comparisons.
        suite: the facts for the summary of its suite; None in a table for comparisons.
        requested, measured: for comparisons.
    """

    line: int
    place: Any
    data_index: int | None
    case: str | None
    trial: int
    config: str | None
    vendor: str | None
    model: str | None
    asked_model: str | None
    outcome: str
    problem: str | None
    success: bool
    stated: tuple[str | None, bool | None]
    finish_reason: str | None
    valid: bool | None
    calls: tuple[tuple[bool | None, tuple[str, ...]], ...] | None
    prompt_tokens: float | None
    completion_tokens: float | None
    total_tokens: float | None
    tokens: float | None
    ttft_ms: float | None
    tps: float | None
    duration_ms: float | None = None
    loop_lag_ms: float | None = None
    attempts: int
    at: str | None
    served: tuple[str | None, str | None, str | None]
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    suite: SuiteRow | None = None
    requested: Requested = NOTHING
    measured: Measures | None = None

    @property
    def decision(self) -> str:
        """Return whether the vendor decided to call tools or to stop, ended otherwise, or gave no valid answer."""
        return self.outcome if self.outcome in ANSWERS else "none"

    @property
    def billed_tokens(self) -> float | None:
        """The completion tokens, with thoughts that only the total has."""
        # billed_tokens() reads any JSON, so its result is Any; these columns are numbers or None.
        return billed_tokens({name: getattr(self, name) for name in TOKENS})  # type: ignore[no-any-return]

    @property
    def key(self) -> tuple[object, ...]:
        """Identifies a case and trial in its source."""
        if self.case is not None:
            return self.config, self.case, self.trial
        return (self.line,) if self.data_index is None else (self.data_index, self.trial)

    @property
    def fits(self) -> bool | None:
        """Return whether all calls of the answer fit their schemas; None without calls or if it is unknown.

        An answer that announces calls and lacks them does not fit. Calls that cannot be checked, because the test set's
        schemas are broken, are skipped.
        """
        if self.decision != "tool_calls" or (self.valid is None and self.calls != ()):
            return None
        return self.valid is True

    def figure(self, name: str) -> float | None:
        """Return tokens or a time, unless it is a 0 that no answer can have: other tools write it for unknown."""
        value = getattr(self, "tokens" if name == "total_tokens" else name)
        return None if value is None or (value == 0 and name != "duration_ms") else float(value)


Case = tuple[object, ...]
"""Identifies a case in every table: its content, and its number among repeats of that content."""

SIDES = ("baseline", "vendor")

Trials = Mapping[int, AnswerRow]
"""Number of the trial -> its row."""


@dataclass(frozen=True)
class Answers:
    """The answers of one vendor with one model and configuration.

    Attributes:
        vendor: as named by the rows, otherwise by the file's name.
        model: as named by the rows, otherwise the model of their requests if they agree.
        rows: one per case and trial, in the order of the test set.
        notes: remarks about the rows for readers of the figures.
        suites: the scores of the suites that they belong to; empty in a table for comparisons.
        moments: when the first and the last case ended; empty if no row says it.
    """

    source: VendorRows
    vendor: str
    model: str | None
    rows: tuple[AnswerRow, ...]
    notes: tuple[str, ...] = ()
    suites: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    moments: tuple[str, ...] = ()

    @property
    def names_cases(self) -> bool:
        """Return whether every row names its case."""
        return all(row.case is not None for row in self.rows)

    @property
    def is_of_baseline(self) -> bool:
        """Return whether its summary marks it as the baseline of its model."""
        return self.source.about(self.rows[0].config).get("is_baseline") is True

    @property
    def provenance(self) -> Body:
        """Return the test set, the configuration, the prices and the options of the rows; empty if none are known."""
        return object_in(self.source.about(self.rows[0].config), "provenance")

    @property
    def not_sent(self) -> int:
        """Return how many requests its last session did not send; 0 if that is not known."""
        found = self.source.about(self.rows[0].config).get("not_sent")
        return found if isinstance(found, int) else 0

    @property
    def prices(self) -> Mapping[str, float]:
        """Return ``input`` and ``output`` prices per million tokens; empty if none are known."""
        found = object_in(self.provenance, "prices")
        return {name: price for name, price in found.items() if isinstance(price, int | float)}

    def cases(self, *, by_name: bool) -> dict[Case, dict[int, AnswerRow]]:
        """Case -> its trials; by the rows' own names, or by content, with repeats in order of the test set."""
        found: dict[Case, dict[int, AnswerRow]] = {}
        seen: Counter[tuple[object, int]] = Counter()
        for row in self.rows:
            asked = row.case if by_name else row.requested.content
            found.setdefault((asked, 0 if by_name else seen[asked, row.trial]), {})[row.trial] = row
            seen[asked, row.trial] += 1
        return found


def read_rows(source: VendorRows, rows: Iterable[PlacedRow] | None = None, *, compared: bool = True) -> list[Answers]:
    """Make a table for each vendor, model and configuration, in the order of their first rows, which may be in any.

    A row replaces an earlier, failed one of its case and trial. But if any case was sent again after a success, the
    rows are several consecutive runs, and every row is a trial.

    Args:
        rows: the rows while they are written; by default they are read from the source.
        compared: whether the rows are for comparisons, which is slow, or for summaries.
    """
    groups, torn = dict[Any, list[AnswerRow]](), list[str]()
    for number, place, row in source if rows is None else rows:
        if row is None:
            torn = [f"{source}: line {number} is cut off and was skipped"]
            continue
        try:
            more = _comparison_fields(row, source, place) if compared else _summary_fields(row)
            found = AnswerRow(line=number, place=place, **_row_fields(row), **more)
        except ValueError as error:
            raise DataError(f"{source}, line {number}: {error}") from error
        groups.setdefault((found.vendor, found.model, found.config), []).append(found)
    return [_table(source, own, torn) for own in groups.values()]


def _table(source: VendorRows, rows: Sequence[AnswerRow], torn: Sequence[str]) -> Answers:
    notes, by_key = list(torn), group_by_key((row.key, row) for row in rows)
    counting = [own[-1] for own in by_key.values()]
    if any(row.success for own in by_key.values() for row in own[:-1]):
        cases = group_by_key((row.key[:-1] or row.key, row) for row in rows).values()
        counting = [replace(row, trial=number) for own in cases for number, row in enumerate(own)]
        further = f"{len(counting) - len(by_key):,} rows repeat a case that was answered before"
        notes.append(f"{source}: {further}, and count as further trials")
    notes += (f"{source}: {text}" for text in _contradictions(counting))
    counting.sort(key=_order)
    first, asked = counting[0], {row.asked_model for row in counting}
    model = first.model or (first.asked_model if len(asked) == 1 else None)
    vendor, moments = first.vendor or file_label(source.file_name), sorted(row.at for row in rows if row.at)
    suites = summarize_suites(row.suite for row in rows if row.suite)
    return Answers(source, vendor, model, tuple(counting), tuple(notes), suites, tuple(moments[:1] + moments[-1:]))


def _contradictions(rows: Sequence[AnswerRow]) -> Iterator[str]:
    """Report rows with columns from another tool that contradict the response, and the figures of these columns.

    Figures here are based on the responses.
    """
    found: Counter[str] = Counter()
    for row in rows:
        finish, valid = row.stated
        if finish and row.decision == "none":
            found["the file says success, and the response has no answer"] += row.success
        elif finish and finish != row.finish_reason:
            found["the file has another finish reason than the response"] += 1
        elif row.fits is not None and isinstance(valid, bool) and valid != row.fits:
            found[f"the file says {'valid, the arguments are not' if valid else 'not valid, the arguments are'}"] += 1
    stated = [valid is True for finish, valid in (row.stated for row in rows if row.success) if finish == "tool_calls"]
    by_file = f"; by the file, calls are valid in {sum(stated)} of {number_of(len(stated), 'answer')}"
    yield from (f"{number_of(count, 'row')}: {text}{by_file}" for text, count in found.items() if count)


def _order(row: AnswerRow) -> tuple[int, int, int]:
    return row.line if row.data_index is None else row.data_index, row.trial, row.line


def file_label(file_name: str) -> str:
    """Return the vendor's name from the file name, for rows that do not name it."""
    stem = PurePath(file_name).stem
    return stem.removesuffix("_results").removesuffix("-results").removesuffix(".results") or file_name


def read_tables(source: VendorRows, *, compared: bool = True) -> list[Answers]:
    """Read rows into tables with ``read_rows``; raise DataError if there are no rows."""
    if not (tables := read_rows(source, compared=compared)):
        raise DataError(f"{source}: contains no result rows")
    return tables


def read_one(source: VendorRows, *, compared: bool = True) -> Answers:
    """Read the answers of one vendor, model and configuration; DataError if there are several."""
    first, *others = read_tables(source, compared=compared)
    if others:
        names = ", ".join(sorted({f"{found.vendor} / {found.model}" for found in (first, *others)}))
        said = f"{source}: contains rows of {len(others) + 1} configurations ({names}); a comparison needs one per file"
        raise DataError(f"{said}: give each its own --output in bench verify")
    return first


def name_apart(tables: Iterable[Answers], *, within_models: bool = False) -> Iterator[Answers]:
    """Yield tables; a vendor with the name of one before it, of the same model or of any, gets its source appended."""
    names = set[tuple[str, str | None]]()
    for one in tables:
        name = one.vendor, one.model if within_models else None
        yield replace(one, vendor=f"{one.vendor} ({one.source})") if name in names else one
        names.add(name)


def as_trials(tables: Sequence[Answers], vendor: str | None = None) -> Answers:
    """Combine several tables of one vendor and model; each table's trials are numbered after the previous table's."""
    first = replace(tables[0], vendor=vendor or tables[0].vendor)
    if len(tables) == 1:
        return first
    offset, rows = 0, list[AnswerRow]()
    for table in tables:
        if table.model != first.model:
            said = f"{first.source} has results of {first.model}, {table.source} of {table.model}"
            raise DataError(f"{said}; all files of one side must be of one model")
        rows += (replace(row, trial=row.trial + offset) for row in table.rows)
        offset += 1 + max(row.trial for row in table.rows)
    names = ", ".join(str(table.source) for table in tables)
    taken = f"{len(tables)} files were taken as trials of {first.vendor}: {names}"
    notes = (taken, *(note for table in tables for note in table.notes))
    return replace(first, rows=tuple(sorted(rows, key=_order)), notes=notes)


def _row_fields(row: Body) -> dict[str, Any]:
    response, is_ours, attempts = object_in(row, "response"), "stated" not in row, row.get("attempts")
    usage, own_total = usage_of(response), _number(row, "total_tokens")
    fields: dict[str, Any] = {name: text_in(row, name) for name in TEXTS}
    # In rows of other tools the duration includes the wait for a free slot and every retry.
    times = ("ttft_ms", "tps", "duration_ms", "loop_lag_ms") if is_ours else ("ttft_ms", "tps")
    fields |= {name: _number(row, name) for name in times}
    prompt, completion, total = (_number(row, name) or _count(usage.get(name)) for name in TOKENS)
    total = total or (prompt + completion if prompt and completion else None)
    fields |= {"prompt_tokens": prompt, "completion_tokens": completion, "tokens": total}
    fields["total_tokens"] = own_total if is_ours else total
    served = object_in(row, "served") or response
    names = ("model", "system_fingerprint", "provider")
    fields |= {"success": row["status"] == "success", "served": _share(tuple(text_in(served, one) for one in names))}
    fields |= {"data_index": _number(row, "data_index", int), "trial": _number(row, "trial", int) or 0}
    fields["attempts"] = len(attempts) if isinstance(attempts, list) else 0
    fields["outcome"], fields["problem"] = row["outcome"], text_in(object_in(row, "problem"), "kind")
    fields["valid"], fields["calls"] = _verdicts(row)
    fields["stated"] = row.get("stated", (fields["finish_reason"], fields["valid"]))
    fields["asked_model"] = text_in(object_in(row, "request"), "model")
    # Not interned, as each row has others.
    return fields | {name: _text(row.get(key)) for name, key in (("case", "case"), ("at", "last_run_at"))}


def _comparison_fields(row: Body, source: VendorRows, place: Any) -> dict[str, Any]:
    from trialbed_verify.panel import measure

    return {"requested": reduce_request(sent_request(row)), "measured": measure(row, source, place)}


def _summary_fields(row: Body) -> dict[str, Any]:
    from trialbed_verify.findings import CALL_REASONS, PROTOCOL_ERRORS, findings

    kinds = _share(tuple(found.kind for found in findings(row)))
    notes = row.get("notes")
    if not isinstance(notes, list):
        notes = [kind for kind in kinds if kind not in PROTOCOL_ERRORS and kind not in CALL_REASONS]
    return {"findings": kinds, "notes": _share(tuple(map(str, notes))), "suite": suite_row(row)}


def _verdicts(row: Body) -> tuple[bool | None, Any]:
    calls, valid = row.get("calls"), row.get("tool_calls_valid")
    if not isinstance(calls, list) and "tool_calls_valid" in row and row.get("finish_reason") == "tool_calls":
        # K2-style tools write null if announced calls are missing.
        valid = valid is True
    verdicts = _share(tuple(map(_call, calls))) if isinstance(calls, list) else None
    return valid if isinstance(valid, bool) else None, verdicts


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _call(call: Any) -> tuple[bool | None, tuple[str, ...]]:
    if not isinstance(call, dict):
        raise ValueError("calls: a call is not an object")  # noqa: TRY004 - the caller names file and line
    reasons, valid = call.get("reasons") or (), call.get("valid")
    if not isinstance(reasons, list | tuple):
        raise ValueError("calls: the reasons are not a list")  # noqa: TRY004 - as above
    return valid if isinstance(valid, bool) else None, tuple(intern(str(reason)) for reason in reasons)


def _count(value: Any) -> float | None:
    """Return a count as the vendor sent it; None if it is not a number, as no vendor may escape a verdict by it."""
    return value if _is_number(value) and value >= 0 else None


def _is_number(value: Any, kind: Any = (int, float)) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def _number(source: Body, key: str, kind: Any = (int, float)) -> Any:
    """Return a number, None for one below 0; ValueError if it is not of this kind."""
    value = source.get(key)
    if value is not None and not _is_number(value, kind):
        raise ValueError(f"{key}: {value!r} is not a {'whole ' if kind is int else ''}number")
    return value if value is not None and value >= 0 else None


def reduce_request(body: Mapping[str, Any]) -> Requested:
    """Reduce a request body; null and missing parts are equal."""
    known = {key: value for key, value in body.items() if value is not None}
    digests = ((part, blake2b(_canonical(known[part]), digest_size=16)) for part in CONTENT if part in known)
    content = tuple((part, intern(digest.hexdigest())) for part, digest in digests)
    rest = {key: value for key, value in known.items() if key not in OF_THE_VENDOR and key not in CONTENT}
    # lru_cache() hides the type of its function's result.
    return _share(Requested(content, intern(_canonical(rest).decode())))  # type: ignore[no-any-return]


def _canonical(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@lru_cache(maxsize=1 << 16)
def _share(value: Any) -> Any:
    """Return the first of equal values to save memory, since most rows repeat them."""
    return value


class Pair(NamedTuple):
    """The trials of one case in both tables."""

    baseline: Trials
    vendor: Trials

    def rows(self) -> list[tuple[AnswerRow, AnswerRow]]:
        """The pairs of rows with equal trial numbers."""
        return [(row, self.vendor[trial]) for trial, row in self.baseline.items() if trial in self.vendor]

    @property
    def first(self) -> tuple[AnswerRow, AnswerRow]:
        """The first trial of each side."""
        return next(iter(self.baseline.values())), next(iter(self.vendor.values()))


@dataclass(frozen=True)
class Pairing:
    """Two tables, case by case.

    Attributes:
        by_name: whether cases are identified by the rows' own names, not by the content of requests.
        only_baseline, only_vendor: rows of cases that only one table has.
        asked_otherwise: pairs with different content in their prepared requests.
        settings: description of a difference -> number of pairs that have it.
    """

    baseline: Answers
    vendor: Answers
    by_name: bool
    cases: dict[Case, Pair]
    only_baseline: list[AnswerRow]
    only_vendor: list[AnswerRow]
    asked_otherwise: list[tuple[AnswerRow, AnswerRow]]
    settings: dict[str, int]

    @property
    def pairs(self) -> list[Pair]:
        """The pairs without their cases."""
        return list(self.cases.values())

    @property
    def prices(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """The prices of the baseline and of the vendor."""
        return self.baseline.prices, self.vendor.prices


def pair(
    baseline: Answers, vendor: Answers, *, force: bool = False, by_name: bool | None = None, may_lack: bool = False
) -> Pairing:
    """Pair two tables by case.

    Args:
        force: pair the common cases even if the requests or settings of the tables differ.
        by_name: identify cases by the rows' own names; by default, if all rows of both tables have them.
        may_lack: accept a vendor's table that lacks cases.
    """
    has_names = baseline.names_cases and vendor.names_cases if by_name is None else by_name
    ours, theirs = (table.cases(by_name=has_names) for table in (baseline, vendor))
    cases = {case: Pair(trials, theirs[case]) for case, trials in ours.items() if case in theirs}
    firsts = [one.first for one in cases.values()]
    lacked = [row for case, trials in ours.items() if case not in cases for row in trials.values()]
    further = [row for case, trials in theirs.items() if case not in cases for row in trials.values()]
    otherwise = [rows for rows in firsts if len({row.requested.content for row in rows}) > 1]
    found = Pairing(baseline, vendor, has_names, cases, lacked, further, otherwise, _settings(firsts))
    if not cases:
        what = "the files have no request in common, so they cannot be compared:"
        raise UsageError("\n  ".join([what, *_problems(found)]))
    if not force and not all(map(_is_default, _problems(found, may_lack=may_lack))):
        hint = f"use --force to compare the {len(cases)} common cases"
        raise UsageError("\n  ".join(["the files do not contain the same requests:", *_problems(found), hint]))
    return found


def _is_default(problem: str) -> bool:
    """Return whether a problem is only a temperature that the vendor's requests leave to its default."""
    return "differ: temperature is " in problem and problem.endswith(" in the baseline and absent in the vendor's")


def _problems(found: Pairing, *, may_lack: bool = False) -> Iterator[str]:
    """Yield the differences between the tables, one line each."""
    ours, theirs = found.baseline.source, found.vendor.source
    for rows, there, here in ((found.only_baseline, ours, theirs), (found.only_vendor, theirs, ours)):
        if rows and not (may_lack and rows is found.only_baseline):
            yield f"{here} lacks {number_of(len(rows), 'row')} that {there} has: {_lines(rows)}"
    if differing := found.asked_otherwise:
        contents = [[set(row.requested.content) for row in rows] for rows in differing]
        parts = {part for one, other in contents for part, _ in one ^ other}
        cases, lines = number_of(len(differing), "case"), _lines([row for row, _ in differing])
        yield f"{cases} with different requests ({', '.join(filter(parts.__contains__, CONTENT))}): {ours}, {lines}"
    for difference, count in found.settings.items():
        yield f"the settings of {number_of(count, 'request')} differ: {difference}"


def _lines(rows: Sequence[AnswerRow]) -> str:
    shown = ", ".join(str(row.line) for row in rows[:SHOWN])
    return f"line{'s' * (len(rows) > 1)} {shown}{' …' * (len(rows) > SHOWN)}"


def _settings(firsts: Sequence[tuple[AnswerRow, AnswerRow]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for settings, count in Counter(tuple(row.requested.settings for row in rows) for rows in firsts).items():
        both = one, other = [json.loads(own) for own in settings]
        for key in sorted(key for key in one | other if one.get(key) != other.get(key)):
            ours, theirs = (json.dumps(own[key], ensure_ascii=False) if key in own else "absent" for own in both)
            found[f"{key} is {ours} in the baseline and {theirs} in the vendor's"] += count
    return dict(found.most_common())
