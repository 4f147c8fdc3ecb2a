"""Run nine frameworks at every fault of the wire-fault atlas, and write how each trial ended as JSON.

    python benchmarks/wire_faults.py docs/results/wire-faults.json --env-dir FOLDER

Each framework has one task with one tool, in its native profile, once for each row. The model comes from
`bench serve --faults atlas`; it also sees whether a framework asks for streams. The cells:

    survives   the right call was made with the right arguments, and an answer came
    says so    the trial failed or was not measured, and the failure names the model or the endpoint
    fails      the trial failed otherwise: an exception of the framework, or a limit
    loses it   an answer came without the right call, and no failure was reported
    not met    only streams have this fault, and the framework does not ask for streams
    not measured   the framework also fails without the fault, at two calls in one answer
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from trialbed_scripted import serve
from trialbed_scripted.faults import atlas

FRAMEWORKS = (
    "langgraph",
    "pydantic-ai",
    "openai-agents",
    "agno",
    "agent-framework",
    "autogen",
    "crewai",
    "google-adk",
    "smolagents",
)
TASKS = '''
from typing import Literal

from trialbed import Task, call


def get_weather(city: Literal["Oslo"]) -> str:
    """The weather in a city."""
    return "It is sunny."


tasks = [Task("How is the weather in Oslo?", tools=[get_weather], calls=[call("get_weather", city="Oslo")])]
'''
UNCHANGED = {"report", "says", "finds", "request", "calls", "drop", "set", "add"}
UNCHANGED |= {"chunks", "first", "middle", "last", "after"}
"""Keys of rows that change nothing else in a whole answer."""

OF_STREAMS = {"call.index", "chunk.usage"}
"""Fields that rows can only change in streams."""


def main() -> None:
    """Measure the frameworks one after the other; the file is written after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--env-dir", type=Path)
    parser.add_argument("-f", "--framework", action="append", choices=FRAMEWORKS)
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(given.file.read_text()) if given.file.exists() else {}
    streamed = {name for name in atlas() if not changes_whole_answers(name)}
    for framework in given.framework or FRAMEWORKS:
        found[framework] = measure(framework, streamed, given.env_dir)
        given.file.write_text(json.dumps(found, indent=1) + "\n")
        sys.stdout.write(f"{framework}: {found[framework]['cells']}\n")


def changes_whole_answers(name: str) -> bool:
    """Return whether a fault changes more of a whole answer than the number of its calls."""
    row = atlas()[name]
    changed = {*row.get("drop", ())}
    for action in ("set", "add"):
        changed |= {path for path, value in row.get(action, {}).items() if "$number" not in value}
    return bool(changed - OF_STREAMS or row.keys() - UNCHANGED)


def measure(framework: str, streamed: set[str], environments: Path | None) -> dict[str, Any]:
    """Run a framework at every row of the atlas."""
    with serve(faults="atlas") as server, tempfile.TemporaryDirectory() as folder:
        roots = {f"m@{server.origin}/{name}/v1": name for name in atlas()}
        (Path(folder) / "weather.py").write_text(TASKS)
        command = ["run", "--yes", "--dataset", "weather.py", "--framework", framework, "--timeout", "30"]
        command += ["--model-retries", "0", "--format", "json", *(part for root in roots for part in ("--model", root))]
        command += ["--env-dir", str(environments)] if environments else []
        ran = subprocess.run(
            [sys.executable, "-m", "trialbed", *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if not ran.stdout.startswith("["):
            raise SystemExit(f"{framework}: {ran.stderr[-2000:]}")
        documents = json.loads(ran.stdout)
        asks_for_streams = any(request.asked.stream for request in server.requests)
        dialects = sorted({request.dialect for request in server.requests})
    cells = {roots[document["metadata"]["model"]]: cell(document["summary"]) for document in documents}
    if not asks_for_streams:
        lost = {name for name in streamed if cells[name] != "survives"}
        several = {name for name, row in atlas().items() if "calls" in row}
        if lost - several:
            raise SystemExit(f"{framework} does not survive right answers: {', '.join(sorted(lost))}")
        # A framework that fails at two right calls shows nothing about two odd ones.
        cells |= dict.fromkeys(several if lost else (), "not measured")
        cells |= dict.fromkeys(streamed, "not met")
    version = documents[0]["metadata"]["framework_version"]
    return {"version": version, "streams": asks_for_streams, "dialects": dialects, "cells": cells}


def cell(summary: dict[str, Any]) -> str:
    """Return how the one trial of a setup ended."""
    if summary["answered_count"]:
        return "survives" if summary["average_argument_accuracy"] == 1 else "loses it"
    kinds = {failure["kind"] for failure in summary["failures"]}
    return "says so" if kinds <= {"endpoint", "model"} else "fails"


if __name__ == "__main__":
    main()
