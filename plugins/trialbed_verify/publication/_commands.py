"""The commands that make results again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed_verify.comparison import CompareOptions, VendorComparison
from trialbed_verify.publication._sources import Source
from trialbed_verify.suites import SUITES

LEFT_TO_READER = "bench verify TEST-SET --model MODEL --base-url URL --output FILE"


def rerun_commands(sources: Sequence[Source], comparisons: Sequence[VendorComparison]) -> Iterator[str]:
    """Yield the commands that verify and compare again."""
    versions = {_version(source) for source in sources} - {None}
    for version in sorted(filter(None, versions)):
        yield f"# Trialbed {version}"
    for source in sources:
        yield verify_command(source)
    files = {str(source.origin): source.origin.file_name for source in sources}
    by_file: dict[str, list[VendorComparison]] = {}
    for one in comparisons:
        by_file.setdefault(one.baseline.file, []).append(one)
    for baseline, own in by_file.items():
        vendors = [part for one in own for part in ("--vendor", files[one.vendor.file])]
        options = _compare_options(own[0].options)
        yield shlex.join(["bench", "compare", "--baseline", files[baseline], *vendors, *options])


def _compare_options(options: CompareOptions) -> Iterator[str]:
    for gate, margin in options.gate_margins.items():
        yield from ("--gate-margin", f"{gate}={margin:g}")
    if options.force:
        yield "--force"


def verify_command(source: Source) -> str:
    """Return the command that makes a results file again, as far as its summary says."""
    if source.summary is None:
        return f"{LEFT_TO_READER}  # {source.origin.file_name} has no summary beside it that says more"
    about = source.summary["provenance"]
    configuration = about["configuration"]
    words = ["bench", "verify", *_test_set(source, str(about["test_set"])), "--model", configuration["model"]]
    words += ["--base-url", configuration["base_url"], "--trials", str(about["trials"])]
    words += ["--concurrency", str(about["request_concurrency"])]
    for option, key in (("--retries", "retries"), ("--timeout", "timeout_s")):
        if about.get(key) is not None:
            words += [option, f"{about[key]:g}"]
    for option, key in (("--temperature", "temperature"), ("--max-tokens", "max_tokens")):
        if configuration.get(key) is not None:
            words += [option, str(configuration[key])]
    if (stream := _streamed(configuration)) is not None:
        words.append("--stream" if stream else "--no-stream")
    if configuration.get("extra_body"):
        words += ["--extra-body", json.dumps(configuration["extra_body"], ensure_ascii=False)]
    if configuration.get("tokenizer"):
        words += ["--use-raw-completions", "--tokenizer-model", configuration["tokenizer"]]
    return shlex.join([*words, "--output", source.origin.file_name])


def _streamed(configuration: Mapping[str, Any]) -> bool | None:
    """Return whether streams were asked for; None where each request says it."""
    own: bool | None = configuration.get("stream")
    return own if own is not None else configuration.get("streams_unsaid")


def _test_set(source: Source, name: str) -> list[str]:
    """Return the options of the test set: a file, or the suites of which it was made."""
    names = name.removesuffix(".jsonl").split("+")
    if source.suites and all(one in SUITES for one in names):
        return [word for one in names for word in ("--suite", one)]
    return [name]


def _version(source: Source) -> str | None:
    return None if source.summary is None else str(source.summary["provenance"].get("trialbed_version"))
