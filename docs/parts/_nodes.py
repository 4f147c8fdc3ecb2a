"""The figures of ``benchmarks/running.py`` and ``benchmarks/nodes.py`` as tables, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from parts._growth import gateway_milliseconds, known_figures
from parts._markdown import table

REQUESTS = 3
"""Of a trial, in all tables."""

PROCESSES = ("engine", "server", "worker", "supervisor")

MODEL = 2.0
"""Seconds of a request to a model, where one is assumed."""

RATES = (500, 2_000, 10_000)
"""Requests a minute that a vendor may allow."""

MANY = 100_000
"""Trials of a large run."""


def concurrency() -> str:
    """What a trial costs, and what each process holds, where so many trials run at a time."""
    found = _runs_at_once()
    rows = [_of_run(str(most), run) for most, run in found.items()]
    titles = (
        "trials at a time",
        "trials",
        "engine",
        "server",
        "a worker, its trials alone",
        "its supervisor, start and end included",
        "CPU of a trial, all four",
    )
    least, most = min(found), max(found)
    times = sum(_costs(found[most]).values()) / sum(_costs(found[least]).values())
    starts = [_start_of_worker(run) for run in found.values()]
    note = (
        f"A trial takes {times:.2f} times as much with {most} at a time as with {least}. "
        f"The start of a worker, {min(starts):.1f} to {max(starts):.1f} s of a processor, is not in these figures. "
        "In a worker, the time is the median over its trials but the first, as the run stored it; elsewhere it is from "
        "the first trial to the end of the run, its report included. Memory is the most that one process had."
    )
    return f"{table(titles, rows)}\n\n{_about(found)} {note}"


def _runs_at_once() -> dict[int, dict[str, Any]]:
    """The runs that were measured, by the trials at a time."""
    found = {int(most): own["run"] for most, own in known_figures("concurrency").items()}
    return dict(sorted(found.items()))


def _costs(run: dict[str, Any]) -> dict[str, float]:
    """The processor's milliseconds of a trial in each kind of process."""
    return {kind: run["trial"] if kind == "worker" else run[kind]["per trial"] for kind in PROCESSES}


def _of_run(name: str, run: dict[str, Any]) -> tuple[str, ...]:
    costs = _costs(run)
    cells = (f"{cost:.1f} ms, {run[kind]['mib']:.0f} MiB" for kind, cost in costs.items())
    return name, f"{run['trials']:,}", *cells, f"{sum(costs.values()):.0f} ms"


def _start_of_worker(run: dict[str, Any]) -> float:
    """The processor's seconds of a worker beside its trials."""
    worker = run["worker"]
    return float(worker["cpu"] - run["trials"] * run["trial"] / 1000) / int(worker["processes"])


def costs_of_frameworks() -> str:
    """What a trial of each framework costs in its worker, and how many a processor carries."""
    found = {label: own["run"] for label, own in known_figures("frameworks").items()}
    names = dict.fromkeys(label.partition(":")[0] for label in found)
    rows = [
        _of_framework(name, [run for label, run in found.items() if label.partition(":")[0] == name]) for name in names
    ]
    titles = (
        "framework",
        "CPU of a trial in its worker, native",
        "controlled",
        "memory of a worker, the larger of both",
        "trials/s of a processor, native",
        f"agents at a time of a processor, native, where each of {REQUESTS} requests takes {MODEL:g} s",
    )
    note = (
        "The time is the median over a run's trials but the first of each worker, as the run stored it; memory is the "
        "most that a worker had. The last two columns follow from the first, and have no engine and no server in them."
    )
    return f"{table(titles, rows)}\n\n{_about(found)} {note}"


def _of_framework(name: str, runs: list[dict[str, Any]]) -> tuple[str, ...]:
    """A row of a framework's runs: native, then controlled; the built-in loop has no profiles."""
    costs = [f"{run['trial']:.0f} ms" for run in runs]
    memory = max(run["worker"]["mib"] for run in runs)
    rate = 1000 / runs[0]["trial"]
    return name, *[*costs, "-"][:2], f"{memory:.0f} MiB", f"{rate:.0f}", f"{rate * REQUESTS * MODEL:.0f}"


def limits_of_vendors() -> str:
    """What a run reaches at a vendor's requests a minute, and what is busy with it then."""
    runs = [_costs(run) for run in _runs_at_once().values()]
    costs = {
        "engine": [run["engine"] for run in runs],
        "server": [*(run["server"] for run in runs), gateway_milliseconds()],
        "agents": [own["run"]["trial"] for own in known_figures("frameworks").values()],
    }
    titles = (
        "requests a minute",
        "trials/s",
        f"{MANY:,} trials take",
        "processors that the engine takes",
        "the server",
        "agents",
        "runs that are needed, each with a server",
    )
    engine, server = (f"{min(costs[kind]):.0f} to {max(costs[kind]):.0f} ms" for kind in ("engine", "server"))
    note = (
        f"The engine takes {engine} of a trial in the table of [trials at a time](#trials-at-a-time). The server takes "
        f"{server}: the least is of the same table, with a scripted model, and the most of an endpoint's "
        "[streamed answers](#a-server). Agents are those of [the table of frameworks](#a-node). An engine and the "
        "server of its run are a process each, and take one processor at most."
    )
    return f"{table(titles, [_of_rate(rate, costs) for rate in RATES])}\n\n{note}"


def _of_rate(rate: int, costs: dict[str, list[float]]) -> tuple[str, ...]:
    trials = rate / 60 / REQUESTS
    busy = {kind: [trials * cost / 1000 for cost in found] for kind, found in costs.items()}
    runs = math.ceil(max(*busy["engine"], *busy["server"]))
    return f"{rate:,}", f"{trials:.1f}", f"{MANY / trials / 3600:.1f} h", *map(_span, busy.values()), str(runs)


def _span(values: Iterable[float]) -> str:
    ordered = sorted(values)
    return f"{ordered[0]:.2f} to {ordered[-1]:.2f}"


def costs_of_nodes() -> str:
    """The cost of a trial on nodes, in a sentence with its conditions."""
    (own,) = known_figures("nodes")["two nodes"].values()
    about = own["about"]
    # Rounds of several moments have more than one.
    load = " to ".join(f"{about[name]:g}" for name in ("least load", "load") if name in about)
    return (
        f"A further trial takes {own['ratio']:.2f} of the processor time that it takes with `--executor local` "
        f"({own['least']:.2f} to {own['most']:.2f} over the rounds): {own['ray']:.1f} against {own['local']:.1f} ms. "
        f"The run itself takes {own['run on ray'] - own['run on local']:.1f} s more, once. "
        f"Measured on {about['date']} by `benchmarks/nodes.py` in {own['rounds']} rounds of {own['trials']} further "
        f"trials on two nodes of one machine, {about['processors']} processors, under a load of {load}"
        f"{', with raised priority' if about['raised'] else ''}."
    )


def _about(found: dict[Any, dict[str, Any]]) -> str:
    every = [run["about"] for run in found.values()]
    loads = [about["load"] for about in every]
    return (
        f"Measured on {' and '.join(sorted({about['date'] for about in every}))} by `benchmarks/running.py` with "
        f"`scripted:gold`, Python {every[0]['python']}, {every[0]['processors']} processors, under a load of "
        f"{min(loads):g} to {max(loads):g}."
    )
