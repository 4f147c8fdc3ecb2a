"""The figures of ``benchmarks/growth.py`` as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parts._markdown import table

FIGURES = Path(__file__).parents[2] / "benchmarks" / "growth.json"


def known_figures(part: str) -> dict[str, Any]:
    """The figures of a part of the file."""
    found: dict[str, Any] = json.loads(FIGURES.read_text()).get(part, {})
    return found


def _about(found: dict[str, Any]) -> str:
    every = [figure["about"] for own in found.values() for figure in own.values()]
    dates = sorted({about["date"] for about in every})
    loads = [about["load"] for about in every]
    return (
        f"Measured on {' and '.join(dates)} by `benchmarks/growth.py`, Python {every[0]['python']}, "
        f"{every[0]['processors']} processors, under a load of {min(loads):g} to {max(loads):g}: CPU times and memory "
        f"say something, wall times do not.{_bare(found)}"
    )


def _bare(found: dict[str, Any]) -> str:
    """Say which trials were stored without requests and calls."""
    named = []
    for size in sorted(map(int, found)):
        own = found[str(size)]
        bare = [name for name, figure in own.items() if figure["about"].get("bare")]
        if bare:
            named.append(f"{size:,}" if len(bare) == len(own) else f"{size:,} ({', '.join(bare)})")
    return f" Those of {' and '.join(named)} trials were stored without requests and calls." if named else ""


def growth_of_reading() -> str:
    found = {
        size: {name: figure for name, figure in own.items() if name.startswith(SHOWN)}
        for size, own in known_figures("sqlite").items()
    }
    sizes = sorted(map(int, found))
    names = dict.fromkeys(name for size in sizes for name in found[str(size)])
    rows = [_row(name, [found[str(size)].get(name) for size in sizes]) for name in names]
    titles = ("", *(f"{size:,} trials" for size in sizes), *(["last to first"] if len(sizes) > 1 else []))
    return f"{table(titles, rows)}\n\n{_about(found)}"


REPORT = "end of a run: its report"

SHOWN = ("bench ", "end of a run", "start of a resume")
"""What the names of rows begin with."""


def _row(name: str, cells: list[dict[str, float] | None]) -> tuple[str, ...]:
    texts = (f"{one['cpu']:.2f} s, {one['mib']:.0f} MiB" if one else "-" for one in cells)
    if len(cells) == 1:
        return name, *texts
    first, last = cells[0], cells[-1]
    return name, *texts, f"{last['cpu'] / first['cpu']:.2f}" if first and last and first["cpu"] else "-"


def store_costs() -> str:
    """The cost of storing a trial, by the largest store that was filled."""
    sizes = [int(size) for size, own in known_figures("sqlite").items() if STORED in own]
    own = known_figures("sqlite")[str(max(sizes))][STORED]
    return (
        f"A trial of three requests and two calls takes {1000 * own['cpu']:.1f} ms of CPU to store in SQLite, the "
        f"copying of `benchmarks/growth.py` included, and {own['bytes'] / 1000:.0f} kB: seen at {max(sizes):,} trials, "
        f"on {own['about']['date']}.{_in_postgresql()}"
    )


def _in_postgresql() -> str:
    """The same where the store is a database, and the cost of reading from it, where that was measured."""
    found = known_figures("postgresql")
    if not found:
        return ""
    size = max(map(int, found))
    own = found[str(size)]
    date = own[STORED]["about"]["date"]
    more = own[REPORT]["mib"] - known_figures("sqlite")[str(size)][REPORT]["mib"]
    return (
        f" In PostgreSQL it takes {1000 * own[STORED]['cpu']:.1f} ms of the engine's processor, the database's own not "
        f"counted, and processes that read a run take {more:.0f} MiB more, for the driver: seen at {size:,} trials, on "
        f"{date}."
    )


STORED = "a trial copied and stored"


def gateway_milliseconds() -> float:
    """The CPU time of the server for a trial of three requests of 200 tokens each."""
    found = known_figures("streaming")["gateway"]
    return 3 * float(found["request"] + 0.2 * found["token"])


def gateway_costs() -> str:
    found = known_figures("streaming")["gateway"]
    about, trial = found["about"], gateway_milliseconds()
    rows = [
        ("a streamed token that is passed on, where tokens arrive close together", f"{found['token']:.0f} µs"),
        ("a request to an endpoint, with the opening and closing of a trial of its own", f"{found['request']:.1f} ms"),
        ("so a trial of three requests of 200 tokens, if each costs as much", f"{trial:.0f} ms"),
        ("and so one server process on one processor", f"about {1000 / trial:.0f} trials/s"),
    ]
    note = (
        f"Measured on {about['date']} by `benchmarks/streaming.py`, Python {about['python']}, load {about['load']:g}."
    )
    return f"{table(('', 'CPU of the server'), rows)}\n\n{note}"
