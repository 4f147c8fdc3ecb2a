"""Verifications for tests: a test set of a few lines, and a run of it against a scripted vendor."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from trialbed.records import Run, TrialResult
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import summary
from trialbed_verify.table import read_rows
from trialbed_verify.verification import (
    RequestSettings,
    Target,
    TestSet,
    Verification,
    VerifyOptions,
    config_targets,
    endpoint_info,
    endpoint_target,
)

KEY = "sk-for-tests-0123456789"
ANY_MODEL = RequestSettings(model="")
CASES_OF_LATEST = """
    SELECT count(DISTINCT framework || ' ' || query_id || ' ' || repeat) FROM trials
    WHERE run_id = (SELECT run_id FROM runs ORDER BY created DESC LIMIT 1) AND framework = coalesce(:label, framework)
"""

TOOL = {
    "type": "function",
    "function": {
        "name": "lookup",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def written_set(path: Path, count: int = 4, **fields: Any) -> Path:
    """A file of so many different requests."""
    lines = [
        {"messages": [{"role": "user", "content": f"question {number}"}], "tools": [TOOL], **fields}
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


class Quiet:
    """Progress that nobody watches."""

    def start(self, run: Run, trials: Mapping[Target, int], cases: TestSet) -> None:
        pass

    def begin(self, target: Target, total: int, kept: int) -> None:
        pass

    def advance(self, target: Target, result: TrialResult) -> None:
        pass

    def down(self, target: Target, left: int, failure: str | None) -> None:
        pass


def target(url: str, folder: Path, **settings: Any) -> Target:
    """One endpoint, with its results in a folder."""
    chosen = RequestSettings(model="m", **settings)
    return endpoint_target(url, KEY, chosen, None, folder / "results.jsonl", folder / "summary.json")


def configured(folder: Path, text: str, settings: RequestSettings = ANY_MODEL, **keys: str) -> list[Target]:
    """The targets of a configuration file with this text, where these keys are in the environment."""
    path = folder / "config.yaml"
    path.write_text(text)
    with mock.patch.dict(os.environ, keys):
        return config_targets(path, settings, None, folder / "data")


def summarised(
    folder: Path, *rows: dict[str, Any], not_sent: int = 0, vendor: str = "acme", **changes: Any
) -> dict[str, Any]:
    """The summary of these rows, of two trials of four cases."""
    path = folder / f"{vendor}_rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tables = read_rows(FileRows(path), compared=False)
    began = datetime(2026, 1, 1, 12, tzinfo=UTC)
    cases = TestSet(written_set(folder / "set.jsonl", 4))
    one = replace(target("http://127.0.0.1:1/v1", folder), **changes)
    session = {"vendor": vendor, "began": began, "ended": began + timedelta(seconds=3), "not_sent": not_sent}
    info = endpoint_info(one, vendor, cases, VerifyOptions(trials=2)).model_copy(update=session)
    return summary(info, next(iter(tables), None))


async def verify(file: Path, *targets: Target, **options: Any) -> list[dict[str, Any]]:
    """Verify these targets with the store where ``bench`` in the folder of the test set has it; their summaries."""
    chosen = VerifyOptions(**{"store": str(store_in(file.parent)), **options})
    with TestSet(file) as cases:
        return await Verification(cases, targets, chosen, Quiet()).run()


def store_in(folder: Path) -> Path:
    """The store of commands in a folder."""
    return folder / ".trialbed" / "trialbed.db"


def stored(folder: Path, label: str | None = None) -> int:
    """The cases that the latest verification in the store has, or those of one endpoint; it is asked often."""
    try:
        with closing(sqlite3.connect(f"file:{store_in(folder)}?mode=ro", uri=True)) as store:
            return int(store.execute(CASES_OF_LATEST, {"label": label}).fetchone()[0])
    except sqlite3.OperationalError:  # it is not there yet
        return 0


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a results file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def outcomes(found: Sequence[dict[str, Any]]) -> set[tuple[str, str | None]]:
    """The outcomes and the kinds of problems in rows."""
    return {(row["outcome"], row["problem"] and row["problem"]["kind"]) for row in found}
