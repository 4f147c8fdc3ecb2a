"""Samples per second of the tool-call metrics, and the time to import them, over Ragas 0.4.3.

    python benchmarks/metrics.py [--samples 10000] [--rounds 5] [--peer FOLDER]

Both score the same samples in their own processes, in turns, and their values are compared. Rates are samples per
second of CPU time: ``calls`` from calls that are ready in memory (Ragas's messages and calls, ours), ``JSON`` from
parsed JSON, as a file gives it, which Ragas's models validate first. Ragas runs as documented,
``await metric.ascore(...)`` for each sample. It is installed from PyPI into its own environment, with the one pin
that it needs to be imported; ``--peer`` keeps it for the next time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RAGAS = ("ragas==0.4.3", "langchain-community==0.4.1")
METRICS = ("tool_call_accuracy, strict", "tool_call_accuracy, flexible", "tool_call_f1")
IMPORTS = {
    "ours": "from trialbed.metrics import tool_call_accuracy, tool_call_f1",
    "ragas": "from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1",
}
TOOLS = ("search", "book", "weather", "rate", "convert")
QUIET = {"RAGAS_DO_NOT_TRACK": "true", "PYTHONWARNINGS": "ignore"}

Samples = list[dict[str, Any]]


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", type=Path, help="folder of Ragas's environment")
    parser.add_argument("--child", choices=["ours", "ragas"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, json.loads(arguments.file.read_text()))
        return
    with tempfile.TemporaryDirectory() as name:
        compare(Path(name), arguments)


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Print rates and their ratios, and the ratio of the imports."""
    pythons = {"ours": sys.executable, "ragas": peer(arguments.peer or folder / "peer")}
    file = folder / "samples.json"
    file.write_text(json.dumps(samples(arguments.samples)))
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "ragas": []}
    imports: dict[str, list[float]] = {"ours": [], "ragas": []}
    for _ in range(arguments.rounds):
        for name, python in pythons.items():
            found[name].append(run([python, __file__, "--child", name, "--file", str(file)]))
            imports[name].append(import_time(python, IMPORTS[name]))
    print(f"load {os.getloadavg()[0]:.1f}, {arguments.samples} samples, {arguments.rounds} rounds")
    for kind in ("calls", "JSON"):
        for metric in METRICS:
            show(f"{metric}, from {kind}", [each[kind][metric] for each in found["ours"]],
                 [each[kind][metric] for each in found["ragas"]], arguments.samples)  # fmt: skip
    ours, ragas = statistics.median(imports["ours"]), statistics.median(imports["ragas"])
    print(f"import: {ours * 1000:.0f} ms over {ragas * 1000:.0f} ms: {ours / ragas:.3f}")
    differing = sum(
        one != other for one, other in zip(found["ours"][0]["values"], found["ragas"][0]["values"], strict=True)
    )
    print(f"values that differ: {differing} of {len(found['ours'][0]['values'])}")


def show(title: str, ours: list[float], ragas: list[float], count: int) -> None:
    """Print the rates of a metric, and the median and range of the rounds' ratios."""
    ratios = sorted(other / one for one, other in zip(ours, ragas, strict=True))
    one, other = statistics.median(ours), statistics.median(ragas)
    spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
    print(f"{title:45} {count / one:10,.0f} /s over {count / other:10,.0f} /s: {spread}")


def samples(count: int) -> Samples:
    """About four calls made and four wanted; some shuffled, wrong, extra or missing."""
    draw = random.Random(0)
    return [sample(draw) for _ in range(count)]


def sample(draw: random.Random) -> dict[str, Any]:
    right = [call(draw) for _ in range(draw.randint(3, 5))]
    made = [{"name": each["name"], "args": dict(each["args"])} for each in right]
    if draw.random() < 0.25:
        draw.shuffle(made)
    if draw.random() < 0.2:
        made[0]["args"] = dict.fromkeys(made[0]["args"], "wrong")
    if draw.random() < 0.15:
        made.append(call(draw))
    if draw.random() < 0.15:
        del made[-1]
    return {"predicted": made, "reference": right}


def call(draw: random.Random) -> dict[str, Any]:
    return {"name": draw.choice(TOOLS), "args": {name: value(draw) for name in "abcd"[: draw.randint(1, 4)]}}


def value(draw: random.Random) -> Any:
    if draw.random() < 0.1:
        return [draw.randint(0, 9), {"unit": draw.choice(["km", "mi"])}]
    return draw.choice([draw.randint(0, 99), round(draw.random(), 2), f"text {draw.randint(0, 99)}", True])


def child(name: str, found: Samples) -> None:
    """Measure one program and print seconds and values."""
    measure = measure_ours if name == "ours" else measure_ragas
    print(json.dumps(measure(found)))


def measure_ours(found: Samples) -> dict[str, Any]:
    """Ours, over calls and over JSON."""
    from trialbed.conversations import read_calls
    from trialbed.metrics import tool_call_accuracy, tool_call_f1

    ready = [(list(read_calls(each["predicted"])), list(read_calls(each["reference"]))) for each in found]
    plain = [(each["predicted"], each["reference"]) for each in found]
    scorers: dict[str, Callable[[Any, Any], float]] = {
        METRICS[0]: lambda made, right: tool_call_accuracy(made, right, compat="ragas").value,
        METRICS[1]: lambda made, right: tool_call_accuracy(made, right, order="flexible", compat="ragas").value,
        METRICS[2]: lambda made, right: tool_call_f1(made, right, compat="ragas").value,
    }
    values: list[float] = []
    seconds: dict[str, dict[str, float]] = {"calls": {}, "JSON": {}}
    for kind, pairs in (("calls", ready), ("JSON", plain)):
        for metric, score in scorers.items():
            began = time.process_time()
            scored = [score(made, right) for made, right in pairs]
            seconds[kind][metric] = time.process_time() - began
            values += scored if kind == "calls" else []
    return {**seconds, "values": values}


def measure_ragas(found: Samples) -> dict[str, Any]:
    """Ragas, over its messages and calls, and with the making of them."""
    from ragas.messages import AIMessage, HumanMessage, ToolCall
    from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1

    def objects(each: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        made = [ToolCall(name=one["name"], args=one["args"]) for one in each["predicted"]]
        right = [ToolCall(name=one["name"], args=one["args"]) for one in each["reference"]]
        return [HumanMessage(content="do it"), AIMessage(content="", tool_calls=made)], right

    scorers = dict(zip(METRICS, (ToolCallAccuracy(), ToolCallAccuracy(strict_order=False), ToolCallF1()), strict=True))

    async def score(scorer: Any, pairs: Any) -> list[float]:
        return [
            float((await scorer.ascore(user_input=made, reference_tool_calls=right)).value) for made, right in pairs
        ]

    began = time.process_time()
    ready = [objects(each) for each in found]
    making = time.process_time() - began
    values: list[float] = []
    seconds: dict[str, dict[str, float]] = {"calls": {}, "JSON": {}}
    for metric, scorer in scorers.items():
        began = time.process_time()
        values += asyncio.run(score(scorer, ready))
        seconds["calls"][metric] = time.process_time() - began
        seconds["JSON"][metric] = seconds["calls"][metric] + making
    return {**seconds, "values": values}


def peer(environment: Path) -> str:
    """Return the Python of Ragas's environment, which is made if it is not there."""
    python = environment / "bin" / "python"
    if not python.exists():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "-q", "--python", sys.executable, str(environment)], check=True)
        subprocess.run([*uv, "pip", "install", "-q", "--python", str(python), *RAGAS], check=True)
    return str(python)


def import_time(python: str, statement: str) -> float:
    """Wall time of an import in a new process."""
    code = f"import time; began = time.perf_counter(); {statement}; print(time.perf_counter() - began)"
    return float(run([python, "-c", code]))


def run(command: list[str]) -> Any:
    """Return the JSON that a command prints."""
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
