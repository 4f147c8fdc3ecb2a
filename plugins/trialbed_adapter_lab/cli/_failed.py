"""Remember which checks of an adapter failed, for ``bench adapter check --failed``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
from platformdirs import user_cache_path

from trialbed.files import replace_file
from trialbed_adapter_lab import CHECKS, ConformanceReport


def failed_checks(name: str, among: Sequence[str]) -> tuple[str, ...]:
    """Return the checks that failed when they were last run, of the adapter as it is asked for.

    Args:
        among: only these; all if empty. They are returned too if none failed.
    """
    known = {check.name for check in CHECKS}
    found = tuple(check for check in _read(name) if check in known and (not among or check in among))
    if not found:
        click.echo(f"no check of {name} failed last time: running {'these' if among else 'all'}", err=True)
    return found or tuple(among)


def note_failed(name: str, report: ConformanceReport) -> None:
    """Remember the checks that failed, and forget those that no longer do; others stay as they were."""
    ran = {finding.check for finding in report.findings}
    failed = [check for check in _read(name) if check not in ran] + [finding.check for finding in report.problems]
    file = _file(name)
    with suppress(OSError):  # a folder that cannot be written costs --failed, not the check
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, json.dumps(failed).encode())


def _read(name: str) -> list[str]:
    try:
        read = json.loads(_file(name).read_bytes())
    except (OSError, ValueError):
        return []
    return [check for check in read if isinstance(check, str)] if isinstance(read, list) else []


def _file(name: str) -> Path:
    return user_cache_path("trialbed") / "conformance" / f"{name.replace(':', '+')}.json"
