"""``python -m support.mutants [NAME …]`` in ``tests``: run the kit on every mutant, or on these, and record it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.mutants import MUTANTS
from support.mutants._causes import names_cause
from support.mutants._score import Verdict, judge_all

RECORD = Path(__file__).parents[3] / "plugins" / "trialbed_adapter_lab" / "defects.json"


def main() -> None:
    """Run and record, each mutant as soon as it is judged: what was done stays done where this is interrupted."""
    names = sys.argv[1:] or [mutant.__name__ for mutant in MUTANTS]
    rows = {row["name"]: row for row in json.loads(RECORD.read_bytes())}
    for verdict in judge_all(names):
        record(rows, verdict)
        sys.stdout.write(f"{verdict.name}: {verdict.first or 'nothing'} ({verdict.seconds:.1f} s)\n")
        sys.stdout.flush()


def record(rows: dict[str, dict[str, Any]], verdict: Verdict) -> None:
    """Put the verdict of the whole kit on a mutant into the record."""
    rows[verdict.name] = {"failed": verdict.failed, "found": verdict.found}
    write(rows)


def write(rows: dict[str, dict[str, Any]]) -> None:
    """Write the record: each mutant with its checks, those first that fail for the fewest mutants."""
    counts = Counter(check for row in rows.values() for check in (*row["failed"], *row["found"]))
    written = []
    for mutant in (one for one in MUTANTS if one.__name__ in rows):
        row = rows[mutant.__name__]
        failed, found = (_in_order(row[kind], counts) for kind in ("failed", "found"))
        named = names_cause(mutant.__name__, next(iter((*failed, *found)), ""))
        own = {"name": mutant.__name__, "cause": mutant.cause, "failed": failed, "found": found, "named": named}
        written.append(json.dumps(own, ensure_ascii=False))
    RECORD.write_text("[\n" + ",\n".join(written) + "\n]\n", encoding="utf-8")


def _in_order(checks: Iterable[str], counts: Counter[str]) -> list[str]:
    from trialbed_adapter_lab import CHECKS

    places = {check.name: place for place, check in enumerate(CHECKS)}
    return sorted(checks, key=lambda check: (counts[check], places[check]))


if __name__ == "__main__":
    main()
