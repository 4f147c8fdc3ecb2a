"""The commands that make results again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trialbed_verify.publication._sources import Source
from trialbed_verify.suites import SUITES

Document = Mapping[str, Any]

LEFT_TO_READER = "bench verify TEST-SET --model MODEL --base-url URL --output FILE"


def rerun_commands(sources: Sequence[Source], documents: Sequence[Document]) -> Iterator[str]:
    """Commands that verify and compare again, one per line."""
    versions = {_version(source) for source in sources} - {None}
    for version in sorted(filter(None, versions)):
        yield f"# Trialbed {version}"
    for source in sources:
        yield verify_command(source)
    by_file: dict[str, list[Document]] = {}
    for document in documents:
        by_file.setdefault(document["baseline"]["file"], []).append(document)
    for baseline, own in by_file.items():
        options = own[0]["options"]
        vendors = [part for one in own for part in ("--vendor", Path(one["vendor"]["file"]).name)]
        yield shlex.join(["bench", "compare", "--baseline", Path(baseline).name, *vendors, *_as_compared(options)])


def _as_compared(options: Document) -> list[str]:
    """The options of a comparison, as they are in its document."""
    given = ((f"--{name}", options.get(name)) for name in ("seed", "margin", "resamples"))
    words = [word for option, value in given if value for word in (option, f"{value:g}")]
    words += [word for gate, margin in (options.get("gate_margins") or {}).items() for word in _margin(gate, margin)]
    return [*words, "--force"] if options.get("force") else words


def _margin(gate: str, margin: float) -> tuple[str, str]:
    return "--gate-margin", f"{gate}={margin:g}"


def verify_command(source: Source) -> str:
    """The command that makes a results file again, as far as its summary says."""
    if source.summary is None:
        return f"{LEFT_TO_READER}  # {source.path.name} has no summary beside it that says more"
    about = source.summary["provenance"]
    configuration = about["configuration"]
    words = ["bench", "verify", *_test_set(source.summary), "--model", configuration["model"]]
    words += ["--base-url", configuration["base_url"], "--trials", str(about["trials"])]
    words += ["--concurrency", str(about["request_concurrency"])]
    for option, key in (("--retries", "retries"), ("--timeout", "timeout_s")):
        if about.get(key) is not None:
            words += [option, f"{about[key]:g}"]
    for option, key in (("--temperature", "temperature"), ("--max-tokens", "max_tokens")):
        if configuration.get(key) is not None:
            words += [option, str(configuration[key])]
    if configuration.get("stream") is not None:
        words.append("--stream" if configuration["stream"] else "--no-stream")
    if configuration.get("extra_body"):
        words += ["--extra-body", json.dumps(configuration["extra_body"], ensure_ascii=False)]
    if configuration.get("tokenizer"):
        words += ["--use-raw-completions", "--tokenizer-model", configuration["tokenizer"]]
    return shlex.join([*words, "--output", source.path.name])


def _test_set(summary: Document) -> list[str]:
    """The test set: a file, or the suites of which it was made."""
    name = str(summary["provenance"]["test_set"])
    names = name.removesuffix(".jsonl").split("+")
    if summary.get("suites") and all(one in SUITES for one in names):
        return [word for one in names for word in ("--suite", one)]
    return [name]


def _version(source: Source) -> str | None:
    return None if source.summary is None else str(source.summary["provenance"].get("trialbed_version"))
