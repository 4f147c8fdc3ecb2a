"""Views of fidelity reports: tables for a terminal, for Markdown and for a page.

Each figure is in one table: those that readers ask for first are in the ``SUMMARY``, all others in the ``DETAILS``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.records import Json
from trialbed.texts import group_by_key, number_of, one_line
from trialbed.views import UNKNOWN, Folded, Table, TableRow, printable
from trialbed.wire.dialects import CHAT
from trialbed_adapter_lab.differences import Difference, common_length
from trialbed_adapter_lab.fidelity import (
    Behaviour,
    Called,
    Effect,
    ErrorFinding,
    FidelityReport,
    FrameworkFidelity,
    InvariantFinding,
    MessageChange,
    Prompt,
    SchemaFinding,
    ToolSchemas,
)

LONGEST_VALUE, LONGEST_TEXT, LONGEST_NOTE = 60, 160, 300
"""Characters of a JSON value, of a text in a table, and of a text in a note."""

SHARED = 20
"""Characters of the common beginning of two texts that are shown."""

FEW = 3
"""Fewest equal rows of a profile that are shown as one, and the most frameworks that a sentence names."""

LOST: tuple[Effect, ...] = ("missing", "refused")
"""The effects by which a tool is not there for the model."""

CHANGED: tuple[Effect, ...] = ("lost", "added", "changed", "reordered")
"""The effects by which a schema is another one."""

Cell = Callable[[Any], str]
"""Returns the text of a cell for one framework's figures."""


def value(item: Json) -> str:
    """Return a JSON value in one line, cut if it is long."""
    text = printable(json.dumps(item, ensure_ascii=False))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def describe_difference(found: Difference) -> str:
    """Return the place and the kind of a difference, and what differs."""
    place, before, after = f"{found.pointer or '/'} {found.kind}", found.given, found.sent
    if found.kind != "changed":
        return f"{place}: {value(after if found.kind == 'added' else before)}"
    if isinstance(before, str) and isinstance(after, str):
        if before and before in after:
            return f"{place}: {value(after.replace(before, '…'))} was added around it"
        skipped = common_length(before, after) - SHARED
        if skipped > 0:
            before, after = f"…{before[skipped:]}", f"…{after[skipped:]}"
    return f"{place}: {value(before)} → {value(after)}"


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"


def _some(count: int) -> str:
    return f"{count:,}" if count else "none"


def _size(size: int, added: int) -> str:
    """Return a size with the addition to the reference's, also in percent."""
    share = 100 * added / (size - added) if added and size != added else 0
    percent = f", {share:+.0f} %" if abs(share) >= 0.5 else ", <1 %" if share else ""
    return f"{size:,} ({added:+,}{percent})"


def _tally(names: Iterable[str]) -> str:
    """Return every name once, with its number if that is more than one."""
    counts = Counter(names).items()
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts) or "none"


def _tools(*effects: Effect) -> Cell:
    return lambda part: _some(part.count(*effects))


def _calls(fate: Called) -> Cell:
    return lambda part: _some(part.calls.count(fate)) if part.calls else UNKNOWN


def _messages(request: str, kind: str) -> Cell:
    return lambda part: _tally(change.role for change in getattr(part, request) if change.kind == kind)


def _requests(name: str) -> Cell:
    return lambda part: _some(sum(max(0, getattr(one, name)) for one in part.requests)) if part.requests else UNKNOWN


def _requests_after(status: str) -> Cell:
    return lambda part: str(UNKNOWN if (found := part.requests_after(status)) is None else found)


def _calls_at_once(part: Behaviour) -> str:
    calls = part.parallel
    made = f", {calls.made} made" if calls.made < calls.asked else ""
    return f"{_of(calls.at_once, calls.asked)}{made}"


def _overlap(part: Behaviour) -> str:
    seconds, longest = part.parallel.seconds, part.parallel.longest
    return UNKNOWN if seconds is None else f"{seconds:.2f}, longest call {longest:.2f}"


def _calls_made(part: Behaviour) -> str:
    return f"{sum(one.calls_made for one in part.turns)} for {sum(one.calls_sent for one in part.turns)} sent"


def _failed_trials(part: Behaviour) -> str:
    return ", ".join(one.policy for one in part.turns if one.ended) or f"none of {len(part.turns)}"


def _setting(name: str) -> Cell:
    def cell(part: Behaviour) -> str:
        if part.settings is None:
            return UNKNOWN
        setting = next((one for one in part.settings.settings if one.name == name), None)
        if setting is None or setting.honoured:
            return "as asked" if setting else "none in its dialect"
        absent = f", not sent {setting.absent} times" if setting.absent else ""
        return f"sent as {' | '.join(map(value, setting.sent))}{absent}" if setting.sent else "not sent"

    return cell


def _other_fields(part: Behaviour) -> str:
    if part.settings is None:
        return UNKNOWN
    return ", ".join(f"{name}: {' | '.join(map(value, sent))}" for name, sent in part.settings.others.items()) or "none"


def _step_limit(part: Behaviour) -> str:
    limit = part.step_limit
    answered = ", with an answer" if limit.answered else ""
    if limit.refused:
        return f"not kept: {limit.refused} refused after {limit.requests}{answered}"
    kept = "kept" if limit.requests == limit.limit else "not kept"
    return f"{kept}: {limit.requests} requests of {limit.limit}{answered}"


def _time_limit(part: Behaviour) -> str:
    limit = part.time_limit
    return f"{limit.limit:g} s: {'killed' if limit.killed else 'ended by itself'} after {limit.seconds:.2f} s"


SUMMARY: dict[str, dict[str, Cell]] = {
    "schemas": {
        "tools lost": _tools(*LOST),
        "tools renamed": _tools("renamed"),
        "tools added": lambda part: _some(len(part.others)),
        "schemas changed": _tools(*CHANGED),
        "calls as sent": lambda part: _of(part.calls.count("as sent"), len(part.calls)) if part.calls else UNKNOWN,
    },
    "prompt": {
        "bytes": lambda part: _size(*part.request_bytes()),
        "tokens": lambda part: _size(*part.prompt_tokens()),
        "messages changed": lambda part: _some(len(part.last)),
    },
    "behaviour": {
        "requests after 429": _requests_after("429"),
        "requests after 500": _requests_after("500"),
        "extra requests": _requests("extra"),
        "turns missing": _requests("missing"),
        "calls at once": _calls_at_once,
    },
}
"""Part -> the columns of its first table, which has a row for each framework."""

DETAILS: dict[str, dict[str, Cell]] = {
    "schemas": {
        "schemas sent as given": lambda part: _of(sum(not one.effects for one in part.findings), len(part.findings)),
        "only order changed": lambda part: _some(sum(one.effects == ("reordered",) for one in part.findings)),
        "fields lost": _tools("lost"),
        "fields added": _tools("added"),
        "values changed": _tools("changed"),
        "tool not sent": _tools("missing"),
        "framework fails with it": _tools("refused"),
        "order of the tools": lambda part: part.order,
        "added next to the schema": lambda part: _tally(
            f"{key}: {value(item)}" for finding in part.findings for key, item in finding.beside.items()
        ),
        "calls, arguments changed": _calls("changed"),
        "… with values made up": lambda part: _some(sum(bool(one.invented) for one in part.findings)),
        "calls not made": _calls("not made"),
        "calls made impossible": _calls("impossible"),
    },
    "prompt": {
        "dialect": lambda part: ", ".join(part.dialects or (CHAT,)),
        **{f"messages {kind} at first": _messages("first", kind) for kind in ("added", "changed", "lost")},
        **{f"messages {kind} by the end": _messages("last", kind) for kind in ("added", "changed", "lost")},
        "requests with other tools": lambda part: ", ".join(map(str, part.other_tools)) or "none",
        "bytes, first request": lambda part: _size(*part.request_bytes(1)),
        "tokens, first request": lambda part: _size(*part.prompt_tokens(1)),
    },
    "behaviour": {
        "requests repeated": _requests("repeated"),
        "hidden requests": _requests("aside"),
        "turns too many": _requests("beyond"),
        "tool calls made": _calls_made,
        "trials that failed": _failed_trials,
        "calls of one turn, s": _overlap,
        **{name: _setting(name) for name in ("model", "temperature", "seed", "max_tokens")},
        "other fields": _other_fields,
        "step limit": _step_limit,
        "time limit": _time_limit,
    },
}
"""Part -> the rows of its second table, which has a column for each framework."""

TITLES = {
    "schemas": ("Tools as they are offered, and their calls", "Tool schemas"),
    "prompt": ("What is added to the prompt of the model", "Prompt, with {tools} tools"),
    "behaviour": ("Requests after an error, and turns", "Behaviour"),
}
"""Part -> the titles of the two."""

NO_CALLS = (
    *("arguments cut by the length limit", "arguments that are a list"),
    *("arguments that are a text", "arguments that are encoded twice", "arguments as Python writes them"),
    *("arguments in a fence", "arguments with a comma too many", "a tool's name in another case"),
    *("a tool's name in a namespace", "a call in tags of its text", "a call as its text"),
)
"""Cases in which a framework that makes a call has guessed one."""


def report_tables(report: FidelityReport, *, whole: bool = True) -> list[Table]:
    """Return the conclusions, the summary, every figure and the notes. Each profile has tables of its own.

    Args:
        whole: also return the findings on single schemas and the texts of errors, which are too long for a terminal.
    """
    profiles = _by_profile(report.frameworks)
    figures = [table for suffix, found in profiles for table in _figures(report, found, suffix)]
    long = [table for suffix, found in profiles for table in _long(found, suffix) if whole]
    return [_lead(report), *_summary(report), *figures, Table("Notes", notes=list(_notes(report))), *long]


def page_parts(report: FidelityReport) -> list[Table | Folded]:
    """Return the same for a page, on which readers unfold all that is below the summary."""
    notes = Folded("Notes", [Table("", notes=list(_notes(report)))])
    parts: list[Table | Folded] = [_lead(report), *_summary(report), notes]
    for suffix, found in _by_profile(report.frameworks):
        parts.append(Folded(f"Every figure{suffix}", [*_figures(report, found, suffix), *_long(found, suffix)]))
    return parts


def part_rows(part: str, found: Sequence[FrameworkFidelity]) -> list[TableRow]:
    """Return every row on a part, also those of the summary, with a cell for each framework."""
    if part == "errors":
        return _error_rows(found, _seen)
    return list(_rows(part, {**SUMMARY[part], **DETAILS[part]}, found))


def _rows(part: str, cells: Mapping[str, Cell], found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    figures = [getattr(one, part) for one in found]
    for label, cell in cells.items():
        yield TableRow(label, tuple(UNKNOWN if one is None else cell(one) for one in figures))


def _named_rows(cells: Sequence[Mapping[str, str]]) -> list[TableRow]:
    """Return a row for each name; each framework has its cells by name."""
    names = dict.fromkeys(name for known in cells for name in known)
    return [TableRow(name, tuple(known.get(name, UNKNOWN) for known in cells)) for name in names]


def _by_profile(found: Sequence[FrameworkFidelity]) -> list[tuple[str, list[FrameworkFidelity]]]:
    """Return ``(end of titles, frameworks)`` of each profile, with those that have none; all, if there is but one."""
    profiles = list(dict.fromkeys(one.profile for one in found if one.profile is not None))
    if len(profiles) < 2:
        return [("", list(found))]
    return [(f", {profile}", [one for one in found if one.profile in (None, profile)]) for profile in profiles]


def _lead(report: FidelityReport) -> Table:
    """Return the conclusions, and the time, the machine and the versions of the measurement."""
    about, profiles = report.conditions, _by_profile(report.frameworks)
    said = [line for suffix, found in profiles for line in _conclusions(found[1:], suffix.removeprefix(", "))]
    heading = (
        f"Measured {about.measured_at:%Y-%m-%d %H:%M} UTC in {about.seconds:.0f} s, with Trialbed {about.trialbed} "
        f"on Python {about.python}; {about.system}, {about.cores} cores."
    )
    return Table("", notes=[*said, heading])


def _conclusions(found: Sequence[FrameworkFidelity], profile: str) -> Iterator[str]:
    """Yield a sentence on the tools and calls of the frameworks of a profile."""
    schemas = {one.framework.removesuffix(f":{profile}"): one.schemas for one in found if one.schemas}
    same = [name for name, part in schemas.items() if _is_faithful(part)]
    which = f" ({', '.join(same)})" if 0 < len(same) <= FEW else ""
    count = f"{len(same) or 'none'} of {number_of(len(schemas), 'framework')}{which}"
    if schemas:
        yield f"{f'{profile}: ' if profile else ''}tools and calls are unchanged with {count}."


def _is_faithful(part: ToolSchemas) -> bool:
    """Return whether every tool was offered, and every call made, as it was given."""
    changed = part.count(*LOST, *CHANGED, "renamed") or part.others
    return not changed and len(part.calls) == part.calls.count("as sent")


def _summary(report: FidelityReport) -> Iterator[Table]:
    """Yield a table for each part. The reference is the first row; most frameworks of a profile may share one."""
    found = report.frameworks
    for part in (part for part in SUMMARY if part in report.conditions.parts):
        cells = SUMMARY[part]
        rows = [TableRow(one.framework, tuple(row.cells[0] for row in _rows(part, cells, [one]))) for one in found]
        profiles = group_by_key((one.profile, row) for one, row in zip(found[1:], rows[1:], strict=True))
        merged = [row for profile, own in profiles.items() for row in _merge(profile, own)]
        yield Table(TITLES[part][0], ("framework", *cells), [*rows[:1], *merged])


def _merge(profile: str | None, rows: Sequence[TableRow]) -> Sequence[TableRow]:
    """Return the rows of a profile; equal ones are one last row if they are most of them."""
    alike, number = Counter(row.cells for row in rows).most_common(1)[0]
    if profile is None or number < FEW or 2 * number <= len(rows):
        return rows
    which = "all" if number == len(rows) else "the other"
    return [*(row for row in rows if row.cells != alike), TableRow(f"{which} {number}, {profile}", alike)]


def _figures(report: FidelityReport, found: Sequence[FrameworkFidelity], suffix: str) -> Iterator[Table]:
    """Yield a table for each part. The first framework, the reference, is repeated in every block."""
    sections = {"Measured": list(_about(found))}
    for part in (part for part in DETAILS if part in report.conditions.parts):
        sections[TITLES[part][1].format(tools=report.conditions.tools)] = list(_rows(part, DETAILS[part], found))
    if "errors" in report.conditions.parts:
        sections["What the user sees"] = _error_rows(found, _seen)
    if any(one.invariants is not None for one in found):
        sections["Invariants"] = _invariant_rows(found)
    columns = ("", *(one.framework for one in found))
    yield from (Table(f"{title}{suffix}", columns, rows, pinned=1) for title, rows in sections.items())


def _about(found: Sequence[FrameworkFidelity]) -> Iterator[TableRow]:
    cells: dict[str, Cell] = {
        "version": lambda one: one.version,
        "adapter": lambda one: one.adapter or UNKNOWN,
        "Python": lambda one: one.python or UNKNOWN,
        "environment": lambda one: f"lock {one.lock_digest[:12]}" if one.lock_digest else "Trialbed's own",
    }
    for label, cell in cells.items():
        yield TableRow(label, tuple(UNKNOWN if one.version is None else cell(one) for one in found))
    gaps = tuple(_tally(gap.part or "everything" for gap in one.missing) for one in found)
    if {*gaps} - {"none"}:
        yield TableRow("could not be measured", gaps, alarming=True)


def _error_rows(found: Sequence[FrameworkFidelity], cell: Callable[[ErrorFinding], str]) -> list[TableRow]:
    return _named_rows([{finding.case: cell(finding) for finding in one.errors or ()} for one in found])


def _seen(finding: ErrorFinding) -> str:
    as_answer = " as answer" if finding.seen in ("other text", "error text", "tool result") else ""
    words = finding.exception or f"{finding.seen}{as_answer}"
    refused = f" + {finding.refused} refused" if finding.refused else ""
    guessed = f", {finding.calls} guessed" if finding.calls and finding.case in NO_CALLS else ""
    return f"{words} ({finding.requests}{refused}){guessed}"


def _invariant_rows(found: Sequence[FrameworkFidelity]) -> list[TableRow]:
    return _named_rows(
        [{one.invariant.replace("_", " "): _invariant(one) for one in each.invariants or ()} for each in found]
    )


def _invariant(found: InvariantFinding) -> str:
    return f"broken in {_of(found.broken, found.trials)}" if found.broken else f"held in {found.trials}"


def _long(found: Sequence[FrameworkFidelity], suffix: str) -> Iterator[Table]:
    columns = tuple(one.framework for one in found)
    if any(one.errors is not None for one in found):
        told = _error_rows(found, lambda one: "" if one.calls else one_line(one.told, LONGEST_TEXT))
        texts = [
            (row.label, name, text)
            for row in _error_rows(found, lambda one: "" if one.seen == "answer" else one_line(one.text, LONGEST_TEXT))
            for name, text in zip(columns, row.cells, strict=True)
            if text not in ("", UNKNOWN)
        ]
        told = [row for row in told if {*row.cells} - {"", UNKNOWN}]
        yield Table(f"What the model is told of its call{suffix}", ("", *columns), told)
        yield Table.of(f"Texts of exceptions and answers{suffix}", ("", "framework", "text"), texts)
    findings = [one.schemas.findings if one.schemas else () for one in found]
    stresses = {one.name: one.stresses for each in findings for one in each}
    changes = _named_rows([{one.name: _changes(one) for one in each} for each in findings])
    rows = [(row.label, stresses[row.label], *row.cells) for row in changes if {*row.cells} - {"as given", UNKNOWN}]
    if rows:
        yield Table.of(f"Schemas that were changed{suffix}", ("tool", "what is hard about it", *columns), rows)


def _changes(finding: SchemaFinding) -> str:
    """Return the number of differences of each kind in a schema, and what happened to its tool and its call."""
    shown = [f"{kind} {count}" for kind, count in Counter(one.kind for one in finding.differences).items()]
    shown += [effect for effect in finding.effects if effect in ("renamed", *LOST)]
    shown += [f"call {finding.call}"] if finding.call in ("changed", "not made", "impossible") else []
    return ", ".join(shown) or "as given"


def _notes(report: FidelityReport) -> Iterator[str]:
    yield (
        "The reference is the simplest correct loop and serves as the baseline; it got the same traffic. "
        f"Tokens are an estimate: one token per 4 bytes. {UNKNOWN} means not observed."
    )
    if "errors" in report.conditions.parts:
        yield "The number after what the user sees is that of requests; the model refuses those past the trial's limit."
        yield "A guessed call is one that the framework made although the model had written none that can be made."
    if any(one.invariants is not None for one in report.frameworks):
        yield "Invariants are those of the conformance kit, in every trial; a native profile may break them by design."
    for framework in report.frameworks:
        yield from (f"{framework.framework}: {note}" for note in _framework_notes(framework))


def _framework_notes(framework: FrameworkFidelity) -> Iterator[str]:
    yield from (f"its adapter declares: {text}" for text in framework.declared)
    reasons = [(f"{one.part or 'everything'} could not be measured", one.reason) for one in framework.missing]
    if framework.schemas is not None:
        reasons += [(f"with the tool {one.name}", one.reason) for one in framework.schemas.findings]
    if framework.prompt is not None:
        spoken = ", ".join(framework.prompt.dialects or (CHAT,))
        reasons.append(("its adapter declares the dialect", "" if spoken == framework.dialect else framework.dialect))
        reasons += dict.fromkeys(_message_notes(framework.prompt))
    if (found := framework.behaviour) is not None:
        reasons += [(f"scripted:{one.policy}", one.ended or one.reason) for one in found.turns]
        reasons += [(f"status {one.policy}", one.reason) for one in found.refusals]
        reasons.append(("settings could not be determined", found.settings_reason))
        reasons.append(("parallel calls", found.parallel.ended))
        reasons.append(("at the step limit", found.step_limit.ended))
    reasons += [(one.invariant.replace("_", " "), one.first) for one in framework.invariants or ()]
    yield from (f"{what}: {one_line(text, LONGEST_NOTE)}" for what, text in reasons if text)


def _message_notes(found: Prompt) -> Iterator[tuple[str, str]]:
    """Yield every change of a message; later requests repeat those of the first one, which are shown once."""
    known = {(change.kind, change.index) for change in found.first}
    later = [change for change in found.last if (change.kind, change.index) not in known]
    for request, changes in (("first request", found.first), ("later requests", later)):
        yield from ((f"{request}, {change.role} message {change.kind}", _message(change)) for change in changes)


def _message(change: MessageChange) -> str:
    if change.kind == "changed":
        return "; ".join(map(describe_difference, change.differences))
    return str(change.message.get("content") if isinstance(change.message, dict) else change.message)
