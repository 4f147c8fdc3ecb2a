"""``python -m support.mutants [NAME …]`` in ``tests``: run the kit on every mutant, or on these, and record it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from support.mutants import MUTANTS
from support.mutants._causes import names_cause
from support.mutants._score import Verdict, judge_all

RECORD = Path(__file__).parents[3] / "plugins" / "trialbed_adapter_lab" / "defects.json"


def main() -> None:
    """Run and record."""
    chosen = [mutant for mutant in MUTANTS if not sys.argv[1:] or mutant.__name__ in sys.argv[1:]]
    known = {row["name"]: Verdict(row["name"], tuple(row["failed"]), tuple(row["found"])) for row in _recorded()}
    write(known | {verdict.name: verdict for verdict in judge_all(chosen)})


def write(verdicts: dict[str, Verdict]) -> None:
    """Write the record: each mutant with its checks, those first that fail for the fewest mutants."""
    counts = Counter(check for verdict in verdicts.values() for check in (*verdict.failed, *verdict.found))
    rows = []
    for mutant in (one for one in MUTANTS if one.__name__ in verdicts):
        verdict = verdicts[mutant.__name__]
        failed, found = (_in_order(checks, counts) for checks in (verdict.failed, verdict.found))
        first = next(iter((*failed, *found)), "")
        named = names_cause(mutant.__name__, first)
        rows.append({"name": mutant.__name__, "cause": mutant.cause, "failed": failed, "found": found, "named": named})
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _in_order(checks: Iterable[str], counts: Counter[str]) -> list[str]:
    from trialbed_adapter_lab import CHECKS

    places = {check.name: place for place, check in enumerate(CHECKS)}
    return sorted(checks, key=lambda check: (counts[check], places[check]))


def _recorded() -> list[dict[str, list[str]]]:
    rows: list[dict[str, list[str]]] = json.loads(RECORD.read_bytes())
    return rows


if __name__ == "__main__":
    main()
