"""Golden texts: what a command or a page gave, as it is kept, compared and updated."""

from __future__ import annotations

import difflib
import json
import lzma
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent / "texts"
UPDATE = "GOLDEN"
"""The variable that, if it is ``update``, has texts written instead of compared."""

LARGE = 16_000
"""Characters from which a text is kept compressed."""

LINES = 120
"""Lines of a difference that are shown."""

RUN_ID = re.compile(r"\b\d{8}T\d{6}-[0-9a-f]{6}\b")
MOMENT = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?")
ADDRESS = re.compile(r"127\.0\.0\.1:\d+|127\.0\.0\.1 port \d+")
DURATION = re.compile(r"(?<![\w.])-?\d+(\.\d+)?( ?(ms|s|min|h)\b)")
NOW = re.compile(r"\b(?!2026-0)" + MOMENT.pattern[2:])
"""Moments that are not those of the inputs."""

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(\.\d+)?(e-?\d+)?(?![\w])(/[\d.,]+)*|(?<= )-$")
GAPS = re.compile(r"  +|─+|-{4,}")
MACHINE = re.compile(r"Python \d\S+ on \S+|\bconfiguration +\w+|time=\"[^\"]*\"|(?<=\])  +\d\.\d$")
TIMED = re.compile(r"_time\b|TTFT|ttft|duration|tokens/s|\btps\b|\blag\b|seed \d+;")
"""Lines of tables whose numbers are times."""

SHORT = re.compile(r"^(\S+ +\d+/\d+ .*\] +\S+ +[\d,]+ +)\d\S*")
"""A row of the short table of a run, up to its time."""

PASSING = re.compile(r"\[\d+/\d+\]|this machine was delayed")
"""Lines of progress, and of how busy the machine was."""

TIMES = re.compile(r"_time|^time|_ms|duration|seconds|latency|tps|ttft|lag$")
WHOLE = re.compile(r"_ms|milliseconds")
"""Names of times that may be whole numbers."""

PARTS_OF_TIMES = {"wall", "model", "tool", "framework", "waiting", "started", "first_token", "evaluation"}
MACHINES = {
    "packages", "python", "environment", "environment_digest", "config_digest", "adapter_digest", "lock_digest",
    "config", "configuration_digest", "version", "trialbed_version", "trial", "platform", "id", "first", "cached",
    "client_saturated",
}  # fmt: skip
"""Names of what differs between machines, or that is drawn anew."""


ADDED = ("verified", "endpoints", "flights", "code_digest", "json_schema", "dialect")
"""Keys of records that have come since the texts were kept; where they are empty, they are left out."""

EMPTY = re.compile(rf',\s*"(?:{"|".join(ADDED)})": ?(?:null|\[\]|{{}}|"")')


def check(name: str, text: str) -> None:
    """Compare a text with the kept one, or keep it if texts are being updated."""
    text = EMPTY.sub("", text)
    path = TEXTS / f"{name}.txt"
    packed = path.with_suffix(".txt.xz")
    if os.environ.get(UPDATE) == "update":
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in (path, packed):
            old.unlink(missing_ok=True)
        if len(text) < LARGE:
            path.write_text(text, encoding="utf-8")
        else:
            packed.write_bytes(lzma.compress(text.encode(), preset=9))
        return
    kept = lzma.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    if (before := kept.decode()) != text:
        raise AssertionError(f"{name} is not as it was:\n{_difference(before, text)}")


def _difference(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(_lines(before), _lines(after), "kept", "now", n=1, lineterm=""))
    left = f"\n… {len(lines) - LINES} more lines" if len(lines) > LINES else ""
    return "\n".join(line[:600] for line in lines[:LINES]) + left


def _lines(text: str) -> list[str]:
    """The lines of a text, with long ones broken between the keys of JSON."""
    return [part for line in text.splitlines() for part in (line.split(', "') if len(line) > 600 else [line])]


def without_places(text: str, places: Mapping[str, str]) -> str:
    """The text with placeholders for folders, addresses and line ends of other systems."""
    for place, name in places.items():
        text = text.replace(place, name)
    return NOW.sub("NOW", ADDRESS.sub("127.0.0.1:PORT", text))


def without_measurements(text: str) -> str:
    """The text with placeholders for what is measured or drawn anew each time, without progress and with equal gaps."""
    for read in (json.loads, lambda text: [json.loads(line) for line in text.splitlines()]):
        try:
            value = read(text)
        except ValueError:
            continue
        return json.dumps(_steady(value), indent=1, ensure_ascii=False) + "\n"
    lines = [_steady_line(line) for line in text.splitlines() if not PASSING.search(line)]
    return "".join(f"{line}\n" for line in lines)


def _steady_line(line: str) -> str:
    line = MACHINE.sub("MACHINE", DURATION.sub("TIME", MOMENT.sub("MOMENT", RUN_ID.sub("RUN", line))))
    line = SHORT.sub(r"\1TIME", line.replace("cache:mini", "mini"))
    if TIMED.search(line):
        line = NUMBER.sub("TIME", line)
    return GAPS.sub("  ", line).rstrip()


def _steady(value: Any, name: str = "", *, timed: bool = False) -> Any:
    if name in MACHINES:
        return "MACHINE"
    if name == "tps":
        return "TIME"
    timed = timed or (bool(TIMES.search(name)) and name != "timeout")
    if isinstance(value, dict):
        return {key: _steady(item, key, timed=timed) for key, item in value.items()}
    if isinstance(value, list):
        return [_steady(item, timed=timed) for item in value]
    if isinstance(value, str):
        return "TRACEBACK" if value.startswith("Traceback") else _steady_line(value)
    is_time = timed and (value is None or isinstance(value, float) or WHOLE.search(name) is not None)
    return "TIME" if is_time or (name in PARTS_OF_TIMES and isinstance(value, float)) else value
