"""Measure how CPU time and memory of commands that read runs grow with the number of trials.

    python benchmarks/growth.py [--trials 1000,10000,100000] [--store URL] [--folder DIR]

It fills a store with trials that ``bench run`` has recorded here: it runs 100, and adds each trial again under
other queries, with their texts changed, by the store's public methods. So rows, bodies and numbers are what the engine
writes, but no agent ran for most of them; ``--bare`` leaves requests and calls out, which no reading command looks at.
Then it measures commands and pages, each in its own process, and reports which exceed their limits. Trials are scored
again in a copy of the store together with its dataset. Stores that were filled in a ``--folder`` are read again, and
``--only`` names the figures to measure again. ``running.py`` measures the runs themselves.

CPU times are user and system, memory is the most that a process had. Both mean something on a machine that is busy with
other work. Figures are added to ``growth.json``, the source of the figures in ``docs/how-to/run-at-scale.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from trialbed.catalogs import open_dataset
from trialbed.records import TrialResult
from trialbed.store import Store, open_store

FIGURES = Path(__file__).with_name("growth.json")
RECORDED = 50
"""Queries that are run to have trials to copy."""

FRAMEWORKS = ("reference", "langgraph")
APIS = 6


def query(number: int) -> dict[str, Any]:
    parameters = [{"name": name, "type": "STRING", "description": f"the {name}"} for name in ("place", "unit")]
    apis = [
        {
            "category": "Generated",
            "tool_name": f"tool_{one}",
            "api_name": f"get_{one}",
            "description": f"Returns thing {one} of a place, as it was last measured there.",
            "required_parameters": parameters[:1],
            "optional_parameters": parameters[1:],
        }
        for one in range(APIS)
    ]
    calls = [
        {
            "api": {name: apis[one][name] for name in ("category", "tool_name", "api_name")},
            "arguments": {"place": f"place {number}"},
        }
        for one in (0, 1)
    ]
    text = f"Tell me thing 0 and thing 1 of place {number}."
    return {"query_id": number, "text": text, "apis": apis, "gold_calls": calls}


def write_dataset(path: Path, queries: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"name": "growth", "queries": [\n')
        for number in range(queries):
            file.write(f"{',' if number else ''}{json.dumps(query(number))}\n")
        file.write("]}\n")


def copied(result: TrialResult, number: int, *, bare: bool = False) -> TrialResult:
    """Return the trial as one on another query, with the query's texts in its bodies, or without requests and calls."""
    before = re.compile(rf"\bplace {result.key.query_id}\b")

    def text(value: str) -> str:
        return before.sub(f"place {number}", value)

    wire, answer, token = result.wire, result.outcome.answer, f"{result.trial[:12]}-{number}"
    if bare:
        wire = wire.model_copy(update={"model_calls": (), "api_calls": ()})
    models = [
        call.model_copy(update={"request": text(call.request), "response": text(call.response)})
        for call in wire.model_calls
    ]
    apis = [call.model_copy(update={"arguments": {"place": f"place {number}"}}) for call in wire.api_calls]
    if answer is not None:
        answer = answer.model_copy(update={"final_answer": text(answer.final_answer)})
    return result.model_copy(
        update={
            "key": result.key.model_copy(update={"query_id": number}),
            "trial": token,
            "outcome": result.outcome.model_copy(update={"answer": answer}),
            "wire": wire.model_copy(update={"model_calls": tuple(models), "api_calls": tuple(apis), "trial": token}),
        }
    )


def fill(source: str, target: str, trials: int, dataset: Path, *, bare: bool) -> None:
    """Write a run with this many trials by repeating the trials of another store's latest run."""
    with open_store(source) as reader:
        run = reader.run("latest")
        known = {(result.key.framework, result.key.query_id): result for result in run.attempts()}
        tools = {query_id: run.tools(query_id) for query_id in run.config.query_ids}
        record = run.record
    queries = range(trials // len(record.config.frameworks))
    of = dict(zip(queries, (list(tools)[number % len(tools)] for number in queries), strict=True))
    config = record.config.model_copy(update={"query_ids": tuple(queries), "dataset": str(dataset)})
    new = record.model_copy(
        update={
            "run_id": f"20260101T000000-{trials:06x}",
            "config": config,
            "config_digest": str(trials),
            "status": "finished",
        }
    )
    with Store.open(target) as store:
        store.create_run(new)
        for part in parts(queries, 500):
            offers = {number: tools[of[number]] for number in part}
            store.add_selections(new.run_id, offers, config.cells[0].max_tools)
        every = ((number, name) for number in queries for name in config.frameworks)
        for batch in parts(every, 64):
            store.add_trials(new.run_id, [copied(known[name, of[number]], number, bare=bare) for number, name in batch])


def parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part


END = """
import sys
from trialbed.store import open_store
from trialbed.plugins import installed_listeners
from trialbed.report import read_report
with open_store(sys.argv[1]) as reader:
    read_report(reader.run("latest"), plugins=installed_listeners())
"""
"""The report that the end of a run makes."""

RESUME = """
import sys
from trialbed.preparation import due_trials
from trialbed.store import Store
with Store.open(sys.argv[1]) as store:
    run = store.run(sys.argv[2])
    due_trials(run.config, store.each_attempt_summary(run.run_id))
"""
"""A run that goes on reads this of the trials that it has."""

PAGES = """
import signal, subprocess, sys
from urllib.request import urlopen
command = [sys.executable, "-m", "trialbed", "view", "--port", "0", "--store", sys.argv[1]]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as view:
    words = (word for line in view.stderr for word in line.split())
    address = next(word for word in words if word.startswith("http://"))
    for _ in range(int(sys.argv[3])):
        with urlopen(address.rstrip("/") + sys.argv[2]) as page:
            page.read()
    view.send_signal(signal.SIGINT)
"""
"""Starts ``bench view``, asks for a page and ends it."""


PARENT = """
import json, os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""Starts a program from a small process, since a program's peak memory is never less than its parent's."""


def measured(command: Sequence[str], folder: Path) -> dict[str, float]:
    """Return the CPU seconds and the MiB of a program."""
    began = time.perf_counter()
    parent = [sys.executable, "-S", "-c", PARENT, *command]
    found = subprocess.run(parent, cwd=folder, capture_output=True, text=True, check=True)
    code, cpu, memory = json.loads(found.stdout)
    if code:
        raise SystemExit(f"{command}: {found.stderr}")
    return {
        "cpu": round(cpu, 3),
        "mib": round(memory / 1024, 1),
        "wall": round(time.perf_counter() - began, 3),
    }


STORED = "a trial copied and stored"

LIMITED = ("end of a run: its report", "bench show RUN", "bench compare RUN/A RUN/B", "bench view: page of a run")
LIMITS = {10_000: (2.0, 1024.0), 100_000: (20.0, 1024.0)}
"""Number of trials -> the most CPU seconds and MiB that a report, a comparison and a page may take."""


def excess(trials: int, name: str, found: dict[str, Any]) -> str:
    """Say how a figure exceeds its limits; empty if it does not."""
    seconds, mib = LIMITS.get(trials, (float("inf"), float("inf")))
    if name not in LIMITED or (found["cpu"] <= seconds and found["mib"] <= mib):
        return ""
    taken = f"{found['cpu']:.2f} s and {found['mib']:.0f} MiB"
    return f"{name}, {trials:,} trials: {taken} are more than {seconds:.0f} s or {mib:.0f} MiB"


def size_per_trial(store: str, trials: int) -> int:
    """Return the bytes of a store per trial, including its log."""
    return round(sum(file.stat().st_size for file in Path(store).parent.glob(f"{Path(store).name}*")) / trials)


def read(
    trials: int, url: str | None, folder: Path, source: str, *, bare: bool, only: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one size and yield each figure immediately, because a large size takes long."""
    store = url or str(folder / f"{trials}{'-bare' * bare}.db")
    if not Path(store).exists():
        began = time.process_time()
        fill(source, store, trials, folder / "growth.json", bare=bare)
        filled = time.process_time() - began
        yield STORED, {"cpu": round(filled / trials, 6), "bytes": 0 if url else size_per_trial(store, trials)}
    with open_store(store) as reader:
        run = reader.run("latest").run_id
    for name, command in commands(store, run).items():
        if re.search(only, name):
            yield name, measured(command, folder)
    if url is None:
        yield from scored(store, run, trials, folder, only)
    for name, page in {
        "list of runs": "/",
        "page of a run": f"/runs/{run}",
        "queries of a run, the worst first": f"/runs/{run}?sort=hardest+first",
        "page of a trial": f"/runs/{run}/trial?framework=reference&query=7",
    }.items():
        if re.search(only, f"bench view: {name}"):
            cold, warm = (measured([sys.executable, "-c", PAGES, store, page, times], folder) for times in ("1", "11"))
            yield f"bench view: {name}", cold
            again = max(0.0, (warm["cpu"] - cold["cpu"]) / 10)
            yield f"bench view: {name}, again", {"cpu": round(again, 4), "mib": warm["mib"]}


def scored(store: str, run: str, trials: int, folder: Path, only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure the command that reads the dataset and every answer, on a copy of a store."""
    figure = "bench score RUN"
    if not re.search(only, figure):
        return
    with tempfile.TemporaryDirectory(dir=folder) as name:
        copy, dataset = Path(name, "copy.db"), Path(name, "growth.json")
        shutil.copy(store, copy)
        write_dataset(dataset, trials // len(FRAMEWORKS))
        digest = open_dataset(str(dataset), folder).digest()
        with Store.open(str(copy)) as opened:
            config = opened.run(run).config.model_copy(update={"dataset": str(dataset), "dataset_digest": digest})
            opened.update_run(run, config=config)
        yield figure, measured([sys.executable, "-m", "trialbed", "score", run, "--store", str(copy)], folder)


def commands(store: str, run: str) -> dict[str, list[str]]:
    """Return the programs that are measured, by the names of their figures."""
    python, bench = [sys.executable, "-c"], [sys.executable, "-m", "trialbed"]
    own = {
        "bench --version": ["--version"],
        "bench runs": ["runs", "--store", store],
        "bench show RUN": ["show", run, "--store", store],
        "bench show RUN TRIAL": ["show", run, "reference/7", "--store", store],
        "bench plan RUN": ["plan", run, "--store", store],
        "bench compare RUN/A RUN/B": ["compare", *(f"{run}/{name}" for name in FRAMEWORKS), "--store", store],
        "bench export": ["export", run, "--output", os.devnull, "--store", store],
    }
    return {
        "end of a run: its report": [*python, END, store],
        "start of a resume": [*python, RESUME, store, run],
        **{name: [*bench, *arguments] for name, arguments in own.items()},
    }


def save(part: str, key: str, value: dict[str, dict[str, Any]], **conditions: Any) -> None:
    """Add figures to the known ones of a part and a size, each with the conditions of its measurement."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    about = {
        **conditions,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    measured_now = {name: {**figure, "about": about} for name, figure in value.items()}
    known.setdefault(part, {}).setdefault(key, {}).update(measured_now)
    FIGURES.write_text(json.dumps(known, indent=1) + "\n")


def record(folder: Path, source: str) -> None:
    """Run the trials that are copied."""
    dataset = folder / "recorded.json"
    write_dataset(dataset, RECORDED)
    frameworks = [part for label in FRAMEWORKS for part in ("-f", label)]
    command = ["run", "--dataset", str(dataset), "--store", source, *frameworks, "-m", "scripted:gold", "-j", "2"]
    subprocess.run([sys.executable, "-m", "trialbed", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", default="1000,10000")
    parser.add_argument("--store", help="a database's URL instead of files, for one size")
    parser.add_argument("--bare", action="store_true", help="leave requests and calls out of the copies")
    parser.add_argument("--folder", type=Path, help="where stores that are filled stay")
    parser.add_argument("--only", default="", help="a regular expression of the names of figures")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = (given.folder or Path(name)).absolute()
        source = str(folder / "recorded.db")
        if not Path(source).exists():
            record(folder, source)
        exceeding = []
        for trials in map(int, given.trials.split(",")):
            for figure, found in read(trials, given.store, folder, source, bare=given.bare, only=given.only):
                print(f"{trials:>8,} {figure:<45} {found}", flush=True)
                exceeding.append(excess(trials, figure, found))
                part = "postgresql" if given.store else "sqlite"
                save(part, str(trials), {figure: found}, bare=given.bare)
    if any(exceeding):
        raise SystemExit("\n".join(filter(None, exceeding)))


if __name__ == "__main__":
    main()
