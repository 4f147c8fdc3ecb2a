"""The figures of ``benchmarks/running.py`` and ``benchmarks/nodes.py`` as tables, and what follows from them."""

from __future__ import annotations

from typing import Any

from parts._growth import gateway_milliseconds, known_figures
from parts._markdown import table

REQUESTS = 3
"""Of a trial, in all tables."""

MODEL = 2.0
"""Seconds of a request to a model, where one is assumed."""

RATES = (500, 2_000, 10_000)
"""Requests a minute that a vendor may allow."""

MANY = 100_000
"""Trials of a large run."""


def concurrency() -> str:
    """What a trial costs, and what each process holds, where so many trials run at a time."""
    found = {int(most): own["run"] for most, own in known_figures("concurrency").items()}
    rows = [_of_run(str(most), found[most]) for most in sorted(found)]
    titles = ("trials at a time", "trials", "engine", "server", "a worker", "CPU of a trial, all")
    return f"{table(titles, rows)}\n\n{_about(found)}"


def _of_run(name: str, run: dict[str, Any]) -> tuple[str, ...]:
    costs = {"engine": run["engine"]["per trial"], "server": run["server"]["per trial"], "worker": run["trial"]}
    cells = (f"{cost:.1f} ms, {run[kind]['mib']:.0f} MiB" for kind, cost in costs.items())
    return name, f"{run['trials']:,}", *cells, f"{sum(costs.values()):.0f} ms"


def costs_of_frameworks() -> str:
    """What a trial of each framework costs in its worker, and how many a processor carries."""
    found = {label: own["run"] for label, own in known_figures("frameworks").items()}
    names = dict.fromkeys(label.partition(":")[0] for label in found)
    rows = [
        _of_framework(name, [run for label, run in found.items() if label.partition(":")[0] == name]) for name in names
    ]
    titles = (
        "framework",
        "CPU of a trial, native",
        "controlled",
        "memory of a worker",
        "trials/s of a processor",
        f"agents at a time where each of {REQUESTS} requests takes {MODEL:g} s",
    )
    return f"{table(titles, rows)}\n\n{_about(found)}"


def _of_framework(name: str, runs: list[dict[str, Any]]) -> tuple[str, ...]:
    """A row of a framework's runs: native, then controlled; the built-in loop has no profiles."""
    costs = [f"{run['trial']:.0f} ms" for run in runs]
    memory = max(run["worker"]["mib"] for run in runs)
    rate = 1000 / runs[0]["trial"]
    return name, *[*costs, "-"][:2], f"{memory:.0f} MiB", f"{rate:.0f}", f"{rate * REQUESTS * MODEL:.0f}"


def limits_of_vendors() -> str:
    """What a run reaches at a vendor's requests a minute, and what is busy with it then."""
    costs = [own["run"]["trial"] for own in known_figures("frameworks").values()]
    server = gateway_milliseconds()
    rows = [_of_rate(rate, server, min(costs), max(costs)) for rate in RATES]
    titles = (
        "requests a minute",
        "trials/s",
        f"{MANY:,} trials take",
        "processors that the server takes",
        "processors that agents take",
    )
    return table(titles, rows)


def _of_rate(rate: int, server: float, least: float, most: float) -> tuple[str, ...]:
    trials = rate / 60 / REQUESTS
    hours = MANY / trials / 3600
    agents = " to ".join(f"{trials * cost / 1000:.1f}" for cost in (least, most))
    return f"{rate:,}", f"{trials:.1f}", f"{hours:.1f} h", f"{trials * server / 1000:.1f}", agents


def costs_of_nodes() -> str:
    """The cost of a trial on nodes, in a sentence with its conditions."""
    (own,) = known_figures("nodes")["two nodes"].values()
    about = own["about"]
    return (
        f"A further trial takes {own['ratio']:.2f} of the processor time that it takes with `--executor local` "
        f"({own['least']:.2f} to {own['most']:.2f} over the rounds): {own['ray']:.1f} against {own['local']:.1f} ms. "
        f"The run itself takes {own['run on ray'] - own['run on local']:.1f} s more, once. "
        f"Measured on {about['date']} by `benchmarks/nodes.py` in {own['rounds']} rounds of {own['trials']} further "
        f"trials on two nodes of one machine, {about['processors']} processors, under a load of {about['load']:g}"
        f"{', with raised priority' if about['raised'] else ''}."
    )


def _about(found: dict[Any, dict[str, Any]]) -> str:
    every = [run["about"] for run in found.values()]
    loads = [about["load"] for about in every]
    return (
        f"Measured on {' and '.join(sorted({about['date'] for about in every}))} by `benchmarks/running.py` with "
        f"`scripted:gold`, Python {every[0]['python']}, {every[0]['processors']} processors, under a load of "
        f"{min(loads):g} to {max(loads):g}. In a worker, the time is the median over its trials but the first, as the "
        "run stored it; elsewhere it is from the first trial to the end of the run. Memory is the most that a process "
        "had."
    )
