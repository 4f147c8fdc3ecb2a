"""Requests per second and CPU per request of ``bench verify`` and of agent-vendor-verifier, on one vendor.

    python benchmarks/vendor_verification.py [--cases 2000] [--latencies 0 0.02] [--concurrency 5 30 200]
    python benchmarks/vendor_verification.py --ttft       how far reported times to first token are from the truth
    python benchmarks/vendor_verification.py --memory     100,000 cases: peak memory

Both clients meet the same vendor (``vendor_mock.py``) on the same machine, one after the other in each round. The
rate is the vendor's: requests over the seconds from the arrival of the first to its last byte. CPU is the client's,
user and system, without what it needs to start (measured with one case). The peer sends every case twice, streamed
and not; ours once, streamed as the cases ask. The peer is installed from PyPI into its own environment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PEER = "agent-vendor-verifier"
CONFIG = (
    "m:\n  vendors:\n  - {{name: a, model_id: m, api_key: k, url: '{url}', validator: openai, is_baseline: true}}\n"
)


class Measured(NamedTuple):
    """A client's requests per second, CPU milliseconds per request, and peak memory in MiB in one run."""

    rate: float
    cpu: float
    memory: float


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--latencies", type=float, nargs="*", default=[0.0, 0.02])
    parser.add_argument("--concurrency", type=int, nargs="*", default=[5, 30, 200])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ttft", action="store_true")
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.ttft:
            ttft(folder)
        elif arguments.memory:
            memory(folder)
        else:
            compare(folder, arguments)


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Print rates and CPU of both, and their ratios."""
    cases, one = test_set(folder / "cases.jsonl", arguments.cases), test_set(folder / "one.jsonl", 1)
    clients = {"ours": ours, "peer": peer(folder)}
    print("latency  concurrency  client   requests/s  CPU ms/request  peak MiB")
    for latency in arguments.latencies:
        for concurrency in arguments.concurrency:
            runs: dict[str, list[Measured]] = {name: [] for name in clients}
            for _ in range(arguments.rounds):
                for client, command in clients.items():
                    runs[client].append(measured(folder, command, cases, one, latency, concurrency))
            medians = []
            for client, found in runs.items():
                rate, cpu, held = (statistics.median(column) for column in zip(*found, strict=True))
                medians.append((rate, cpu))
                print(
                    f"{latency * 1000:4.0f} ms  {concurrency:11}  {client:7}  {rate:10,.0f}  {cpu:14.2f}  {held:8.0f}"
                )
            rate, cpu = (ours / peers for ours, peers in zip(*medians, strict=True))
            print(f"{'':21}ratio    {rate:10.1f}  {cpu:14.2f}")


def measured(folder: Path, command, cases: Path, one: Path, latency: float, concurrency: int) -> Measured:  # type: ignore[no-untyped-def]
    """One run of a client on a fresh vendor."""
    with vendor("--latency", str(latency)) as url:
        _, start_up, _ = run(folder, command(folder, one, url, concurrency))
        stats(url)
        _, cpu, held = run(folder, command(folder, cases, url, concurrency))
        seen = stats(url)
    return Measured(seen["requests"] / seen["seconds"], (cpu - start_up) / seen["requests"] * 1000, held)


def ours(folder: Path, cases: Path, url: str, concurrency: int) -> list[str]:
    """Return the command of ``bench verify``."""
    (folder / "results.jsonl").unlink(missing_ok=True)
    command = [sys.executable, "-m", "trialbed", "verify", str(cases), "--model", "m", "--base-url", url]
    return [*command, "--api-key", "unused", "-j", str(concurrency)]


def peer(folder: Path):  # type: ignore[no-untyped-def]
    """What makes the peer's command, after installing it."""
    environment = folder / "peer"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, str(environment)], check=True)
    subprocess.run([*uv, "pip", "install", "-q", "--python", str(environment / "bin" / "python"), PEER], check=True)

    def command(folder: Path, cases: Path, url: str, concurrency: int) -> list[str]:
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(url=url))
        for stale in (folder / "data").glob("*"):
            stale.unlink()
        made = [str(environment / "bin" / PEER), "--test-file-path", str(cases), "--config-file-path", str(config)]
        return [*made, "--request-concurrency", str(concurrency)]

    return command


def ttft(folder: Path) -> None:
    """Print how far our times to first token are from the vendor's own, with 200 requests at a time."""
    cases = test_set(folder / "cases.jsonl", 1000)
    with vendor("--first-token", "1.0") as url:
        run(folder, ours(folder, cases, url, 200))
    rows = [json.loads(line) for line in (folder / "results.jsonl").open()]
    errors = sorted(row["ttft_ms"] - float(row["served"]["system_fingerprint"]) for row in rows)
    lags = sorted(row["loop_lag_ms"] for row in rows)
    for name, values in (("reported minus sent, ms", errors), ("own loop's lag, ms", lags)):
        quantiles = {q: values[round(q * (len(values) - 1))] for q in (0.0, 0.5, 0.95, 0.99, 1.0)}
        print(f"{name}: " + ", ".join(f"{q:.0%} {value:.2f}" for q, value in quantiles.items()))


def memory(folder: Path) -> None:
    """Print the peak memory at 1,000, 10,000 and 100,000 cases."""
    for count in (1_000, 10_000, 100_000):
        cases = test_set(folder / "cases.jsonl", count)
        with vendor() as url:
            seconds, cpu, held = run(folder, ours(folder, cases, url, 30))
            requests = stats(url)["requests"]
        print(f"{count:7,} cases: {held:5.0f} MiB, {seconds:6.1f} s, {cpu / requests * 1000:.2f} CPU ms/request")


@contextmanager
def vendor(*arguments: str) -> Iterator[str]:
    """A vendor's URL, while it runs."""
    command = [sys.executable, str(HERE / "vendor_mock.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def stats(url: str) -> dict[str, float]:
    """Return the vendor's counts since the last call."""
    with urllib.request.urlopen(url) as reply:
        found: dict[str, float] = json.load(reply)
    return found


def run(folder: Path, command: list[str]) -> tuple[float, float, float]:
    """Run a client to its end; return wall seconds, CPU seconds, and peak memory in MiB."""
    program = (
        "import resource, subprocess, sys, time\n"
        "began = time.perf_counter()\n"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "if code.returncode: sys.exit(code.stderr.decode()[-2000:])\n"
        "print(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    wall, cpu, held = map(float, done.stdout.split())
    return wall, cpu, held


def test_set(path: Path, count: int) -> Path:
    """Return a file of this many requests of about 7 kB."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "x" * 150}},
        "required": ["city"],
    }
    tools = [
        {"type": "function", "function": {"name": f"lookup_{n}", "description": "d" * 550, "parameters": schema}}
        for n in range(5)
    ]
    with path.open("w") as file:
        for number in range(count):
            role = "_input" if number % 50 == 0 else "system"
            messages = [{"role": role, "content": "s" * 1000}, {"role": "user", "content": f"{number} " + "u" * 1800}]
            file.write(json.dumps({"messages": messages, "tools": tools, "stream": True}) + "\n")
    return path


if __name__ == "__main__":
    main()
