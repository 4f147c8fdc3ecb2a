"""What ``bench rank`` is given: files of results, with names for their vendors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed_verify.comparison import Results, read_results


def read_sources(sources: Iterable[str]) -> list[Results]:
    """The results in files named as ``FILE`` or ``VENDOR=FILE``.

    Raises:
        UsageError: a name is given to a file that holds several vendors.
        DataError: a file cannot be read or holds something else.
    """
    return [found for source in sources for found in _read(source)]


def marked_baselines(files: Iterable[Results]) -> tuple[str, ...]:
    """The vendors whose summary, beside their results, says that they are their model's baseline."""
    return tuple(dict.fromkeys(found.vendor for found in files if _is_marked(found.path)))


def _read(source: str) -> list[Results]:
    name, _, file = source.partition("=")
    if not file or Path(source).exists():
        return read_results(Path(source))
    found = read_results(Path(file))
    if len(found) > 1:
        raise UsageError(
            f"{source}: the file holds {len(found)} vendors or configurations; one name cannot be all theirs"
        )
    return [replace(found[0], vendor=name)]


def _is_marked(path: Path) -> bool:
    summary = path.with_name(path.name.removesuffix("_results.jsonl") + "_summary.json")
    if summary == path or not summary.is_file():
        return False
    try:
        return json.loads(summary.read_bytes()).get("is_baseline") is True
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(f"{summary}: cannot be read, so whether it is of the baseline is unknown: {error}") from error
