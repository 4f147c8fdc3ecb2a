"""A fidelity report as sections of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trialbed.views import Row
from trialbed_fidelity import FidelityReport, FrameworkFidelity
from trialbed_fidelity.views._behaviour import behaviour_rows
from trialbed_fidelity.views._cells import DASH, line, tally
from trialbed_fidelity.views._load import level_rows, process_rows
from trialbed_fidelity.views._wire import many_rows, prompt_rows, schema_rows

LOCK = 12
"""Digits shown of a lock's digest."""


@dataclass(frozen=True)
class Section:
    """Rows under a title."""

    title: str
    rows: tuple[Row, ...]


def sections(report: FidelityReport) -> list[Section]:
    """Every figure that was asked for."""
    return [Section(title, tuple(rows)) for title, rows in _sections(report)]


def _sections(report: FidelityReport) -> Iterator[tuple[str, Iterator[Row]]]:
    found, conditions = report.frameworks, report.conditions
    yield "Measured", _about(found)
    if "schemas" in conditions.parts:
        yield "Tool schemas", schema_rows(found)
    if "prompt" in conditions.parts:
        yield f"Prompt, with {conditions.tools} tools", prompt_rows(found)
    if "behaviour" in conditions.parts:
        yield "Behaviour", behaviour_rows(found)
    if "many" in conditions.parts:
        yield from ((f"With {count:,} tools", many_rows(found, count)) for count in conditions.many)
    if "load" in conditions.parts:
        yield f"Cost, with {conditions.tools} tools", process_rows(found)
        for level in conditions.concurrencies:
            trials = "1 trial at a time" if level == 1 else f"{level} trials at a time"
            yield f"Cost of {trials}", level_rows(found, level)


def _about(found: Sequence[FrameworkFidelity]) -> Iterator[Row]:
    yield line("version", found, lambda one: one.version or DASH)
    yield line("adapter", found, lambda one: one.adapter or DASH)
    yield line("Python", found, lambda one: one.python or DASH)
    yield line("environment", found, _environment)
    if any(one.missing for one in found):
        yield line("could not be measured", found, lambda one: tally(_missing(one)), alarming=True)


def _environment(one: FrameworkFidelity) -> str:
    if one.version is None:
        return DASH
    return f"lock {one.lock_digest[:LOCK]}" if one.lock_digest else "the rig's"


def _missing(one: FrameworkFidelity) -> list[str]:
    return [missing.part or "everything" for missing in one.missing]
