"""The commands whose whole output is kept: by name, each a line or several that run one after the other.

Elsewhere tests look for single figures and words; nothing else holds how all of it reads together. An output that other
tests read whole, such as the figures of verifications as CSV, is not here.
"""

from __future__ import annotations

RUNS = {
    "gold": "20260302T",
    "partial": "20260303T",
    "wrong_args": "20260304T",
    "bad_json": "20260305T",
    "loop": "20260306T",
    "giveup": "20260307T",
    "extra": "20260308T",
    "unknown_tool": "20260309T",
    "none": "20260310T",
    "faults": "20260311T",
    "shop": "20260312T",
    "tools2": "20260313T",
    "tools8": "20260314T",
    "mixed": "20260315T",
    "later": "20260316T",
    "kinds": "20260317T",
    "interrupted": "20260318T",
    "no_verdicts": "20260319T",
    "own_scores": "20260320T",
    "unmeasured": "20260321T",
}
"""The stored runs, and the beginnings of their ids."""

ON_STORED_RUNS = {
    "show-mixed": "show {mixed}",
    "show-interrupted": "show {interrupted}",
    "show-faults": "show {faults}",
    "show-kinds": "show {kinds}",
    "show-kinds-json": "show {kinds} --format json",
    "show-kinds-csv": "show {kinds} --format csv",
    "show-kinds-markdown": "show {kinds} --format markdown",
    "show-kinds-html": "show {kinds} --format html",
    "show-kinds-junit": "show {kinds} --format junit",
    "show-own_scores": "show {own_scores}",
    "show-unmeasured": "show {unmeasured}",
    "show-no_verdicts": "show {no_verdicts}",
    "show-legend": "show {mixed} --legend",
    "show-ambiguous": "show 2026",
    "runs": "runs",
    "runs-tag": "runs --tag mixed --tag later",
    "trial-wrong": "show {wrong_args} reference/3",
    "trial-wrong-json": "show {wrong_args} reference/3 --json",
    "trial-fault": "show {faults} langgraph/4/1",
    "trial-crash": "show {kinds} omega/1",
    "trial-attempt": "show {interrupted} alpha/1 --attempt 1",
    "trial-shop": "show {shop} reference/shop-1",
    "compare-later": "compare {mixed} {later} --force",
    "compare-policies": "compare {gold} {partial} {wrong_args} --force --legend",
    "compare-policies-json": "compare {gold} {partial} {wrong_args} --force --format json",
    "compare-policies-csv": "compare {gold} {partial} {wrong_args} --force --format csv",
    "compare-policies-html": "compare {gold} {partial} {wrong_args} --force --format html",
    "compare-refused": "compare {gold} {partial}",
    "compare-incomplete": "compare {gold}/reference {interrupted}/reference --force",
    "compare-regressed": "compare {gold}/reference {wrong_args} --force --fail-on-regression",
    "compare-own-scores": "compare {mixed}/beta {own_scores}/beta --force --json",
    "compare-preference": "compare {gold}/reference {partial}/reference --force --preference --judge rule",
    "plan-pilot": "plan {own_scores} --queries 60 --repeat 1 --repeat 3",
    "plan-two-runs": "plan {gold}/reference {partial} --score api_call_score --queries 50",
    "export-gold": "export {gold}",
    "export-mixed-otel": "export {faults} --format otel",
    "data-show-query": "data show mini --query-id 11",
    "data-export": "data export {mixed} --output predictions",
    "score-conversations": "score {mixed} --metric tool_call_accuracy --order flexible",
    "select": "select --selector bm25 --selector keyword --k 1,5 --limit 12",
    "select-explain": "select --selector bm25 --k 3 --explain --query-id 11",
    "plugins": "plugins --json",
}
"""Commands that only read: they share a folder with a store of all runs."""

ON_VENDOR_FILES = {
    "compare-two": "compare official.jsonl acme.jsonl",
    "compare-two-json": "compare official.jsonl acme.jsonl --format json",
    "compare-two-html": "compare official.jsonl acme.jsonl --format html",
    "compare-all": "compare --baseline official.jsonl --vendor acme.jsonl --vendor shy.jsonl --legend",
    "compare-own": "compare own-official.jsonl own-acme.jsonl --force",
    "compare-k2": "compare k2-a.jsonl k2-b.jsonl",
    "compare-gates": "compare official.jsonl acme.jsonl --gate-margin decision=0.2 --fail-if not-equivalent",
    "compare-page-markdown": "compare official.jsonl acme.jsonl --page page.md",
    "rank": "rank official.jsonl acme.jsonl shy.jsonl lossy.jsonl --baseline official",
    "rank-json": "rank official.jsonl acme.jsonl shy.jsonl --baseline official --json",
    "rank-table": "rank published_irf.csv",
    "history": "history --file day-1.jsonl --file day-2.jsonl --file day-3.jsonl --file day-4.jsonl",
    "history-json": "history --file day-1.jsonl --file day-3.jsonl --file day-4.jsonl --fail-if-changed --json",
    "plan-verify": "plan-verify",
    "plan-verify-cases": "plan-verify --flip-rate 0.1 --trials 5 --cases 400 --gate-margin decision=0.03",
    "plan-verify-baseline": "plan-verify --baseline official.jsonl --vendor-trials 2 --json",
    "suites": "verify --list-suites",
    "test-set": "verify --suite triggering --write-test-set set.jsonl",
    "judge-calibrate": "judge calibrate --judge rule",
    "judge-calibrate-json": "judge calibrate --judge rule --json",
    "score-calls": "score calls.jsonl",
    "score-rules": "score calls.jsonl --rule search.query=text --rule id=ignore --show 2",
    "score-ragas": "score calls.jsonl --metric tool_call_f1 --compat ragas",
}
"""Commands on files, each in a folder of its own."""

CHANGING = {
    "score-again": ["score {partial} --judge rule", "score {partial} --judge rule --output rejudged --json"],
    "score-missing": ["score {own_scores}", "show {own_scores}"],
    "runs-remove": ["runs remove {gold} {kinds}", "runs --limit 3", "runs remove 1999"],
}
"""Commands that change the store: each has a copy of its own."""

LIVE = {
    "default": ["run -j 1 --limit 3", "runs", "show latest reference/1"],
    "extend": ["run -j 1 --limit 1", "run -j 1 --limit 2 --extend", "run -j 1 --limit 2 --repeat 2 --extend --json"],
    "own-score": ["run -j 1 --limit 2 --fail-under politeness=0.9", "show latest --json", "show latest reference/1"],
}
"""Runs that are made: what is measured in them is left out."""
