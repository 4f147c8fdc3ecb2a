"""The suites by name, and their test sets as files."""

from __future__ import annotations

import lzma
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from trialbed.errors import UsageError
from trialbed.files import write_text
from trialbed.suggestions import closest, did_you_mean


@dataclass(frozen=True)
class Suite:
    """A test set that comes with Trialbed; its cases are the lines of the file with its name."""

    name: str
    about: str
    size: int

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of its test set; ``@NAME`` among the tools of a file is a tool of ``tools.jsonl``."""
        declared = map(orjson.loads, _read("tools.jsonl").splitlines())
        tools = {f"@{tool['function']['name']}": tool for tool in declared}
        for case in map(orjson.loads, _read(f"{self.name}.jsonl").splitlines()):
            if isinstance(case.get("tools"), list):
                case["tools"] = [tools.get(tool, tool) if isinstance(tool, str) else tool for tool in case["tools"]]
            yield case


def _read(name: str) -> bytes:
    folder = files("trialbed_verify.suites")
    file = folder / name
    return file.read_bytes() if file.is_file() else lzma.decompress((folder / f"{name}.xz").read_bytes())


SUITES = {name: Suite(name, **about) for name, about in tomllib.loads(_read("suites.toml").decode()).items()}


def suite(name: str) -> Suite:
    """Return the suite of this name."""
    if name not in SUITES:
        close = did_you_mean(closest(name, SUITES))
        raise UsageError(f"there is no suite {name!r}{close} The suites are {', '.join(SUITES)}")
    return SUITES[name]


def write_test_set(names: Sequence[str], path: Path) -> int:
    """Write the cases of these suites, each once, as a test set, and return their number."""
    cases = [orjson.dumps(case).decode() for name in dict.fromkeys(names) for case in suite(name).cases()]
    write_text(path, "".join(f"{case}\n" for case in cases), "--write-test-set")
    return len(cases)
