"""Replay the recorded local model that comes with Trialbed through every framework and profile, and compare its time.

Each trial must equal the recorded one: all its answers are the recorded ones byte for byte, so calls and tokens are,
and its scores follow from them. The time is the whole command's, with the start of all workers, over the seconds that
the model took for the same answers when they were recorded. Environments that are missing are built before.

    python benchmarks/replayed_model.py [--env-dir FOLDER] [-f FRAMEWORK ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from trialbed.records import TrialResult
from trialbed.store import open_store
from trialbed_plugins.recordings._cassette import read_cassette

NAME = "qwen2.5-coder-0.5b"
FRAMEWORKS = ("reference", "langgraph", "crewai", "autogen", "openai-agents", "agno")
PROFILES = ("native", "controlled")
AIM = 0.1


def main() -> int:
    """Replay, compare, and print a row for each column; returns 1 if a trial is another one or it took too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env-dir", type=Path)
    parser.add_argument("-f", "--framework", action="append", dest="frameworks")
    options = parser.parse_args()
    chosen = [part for name in options.frameworks or FRAMEWORKS for part in ("-f", name)]
    chosen += [part for profile in PROFILES for part in ("--profile", profile)]
    chosen += ["--yes", *([] if options.env_dir is None else ["--env-dir", str(options.env_dir.resolve())])]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        _bench(folder, "run", "--model", f"replay:{NAME}", "--limit", "3", *chosen)
        took = time.perf_counter() - began
        followed = json.loads(_bench(folder, "replay", "latest", "--json"))
        with open_store(str(next(Path(folder).rglob("trialbed.db")))) as store:
            trials = list(store.run("latest").trials())
            by_label = {label: [trial for trial in trials if trial.key.framework == label] for label in _labels(trials)}
            recorded = sum(_print(label, own) for label, own in by_label.items())
            other = [trial.key for trial in trials if not _is_recorded(trial)]
    left = [trial for trial in followed if trial["left_at"] is not None]
    print(
        f"{len(followed) - len(left)} of {len(followed)} trials follow the recording, {len(other)} with other answers"
    )
    print(f"{took:.0f} s over {recorded:.0f} s: {took / recorded:.3f} (aim {AIM})")
    return int(bool(left or other or took > AIM * recorded))


def _bench(folder: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "trialbed", *arguments]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def _labels(trials: list[TrialResult]) -> list[str]:
    return list(dict.fromkeys(trial.key.framework for trial in trials))


def _is_recorded(trial: TrialResult) -> bool:
    bodies = {reply.body for reply in _cassette().replies.values()}
    return all(call.recorded is not None and call.response in bodies for call in trial.wire.model_calls)


@cache
def _cassette() -> Any:
    import trialbed_plugins.recordings as recordings

    return read_cassette(Path(recordings.__file__).parent / "embedded" / f"{NAME}.cassette")


def _print(label: str, trials: list[TrialResult]) -> float:
    """Print the row of a column; returns the seconds that the model took for its answers."""
    calls = [call for trial in trials for call in trial.wire.model_calls]
    recorded = sum(call.recorded or 0.0 for call in calls)
    tokens = sum(call.usage.total_tokens for call in calls if call.usage)
    made = sum(len(trial.wire.api_calls) for trial in trials)
    counts = f"{len(trials)} trials, {len(calls):3} requests, {made:3} calls, {tokens:7,} tokens"
    print(f"{label:26} {counts}, {recorded:6.0f} s")
    return recorded


if __name__ == "__main__":
    sys.exit(main())
