"""``python -m support.mutants [NAME …]`` in ``tests``: run the kit on every mutant, or on these, and record it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from support.mutants import MUTANTS
from support.mutants._score import RECORD, judge_all, recorded_verdicts

if __name__ == "__main__":
    names = [mutant.__name__ for mutant in MUTANTS]
    verdicts = recorded_verdicts()
    # Each mutant is recorded as soon as it is judged, so an interruption loses little.
    for verdict in judge_all(sys.argv[1:] or names):
        verdicts[verdict.name] = verdict
        rows = [json.dumps(asdict(verdicts[name]), ensure_ascii=False) for name in names if name in verdicts]
        RECORD.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
        sys.stdout.write(f"{verdict.name}: {verdict.first or 'nothing'}\n")
        sys.stdout.flush()
