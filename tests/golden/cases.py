"""The commands whose output is kept: by name, each a line or several that run one after the other."""

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

FORMATS = ("json", "csv", "markdown", "html", "junit")

ON_BOTH_STORES = {
    **{f"show-{run}": f"show {{{run}}}" for run in ("mixed", "interrupted", "faults")},
    **{f"show-mixed-{form}": f"show {{mixed}} --format {form}" for form in FORMATS},
    "runs": "runs",
    "runs-json": "runs --json",
    "trial-wrong": "show {wrong_args} reference/3",
    "trial-wrong-json": "show {wrong_args} reference/3 --json",
    "compare-later": "compare {mixed} {later} --force",
    "export-gold": "export {gold}",
}
"""Commands that give the same whichever database holds the runs."""

ON_STORED_RUNS = {
    **{f"show-{run}": f"show {{{run}}}" for run in RUNS if run not in ("mixed", "interrupted", "faults")},
    **{f"show-{run}-{form}": f"show {{{run}}} --format {form}" for run in ("kinds", "own_scores") for form in FORMATS},
    **{f"show-{run}-json": f"show {{{run}}} --json" for run in ("faults", "interrupted", "no_verdicts", "unmeasured")},
    **{f"show-{run}-markdown": f"show {{{run}}} --format markdown" for run in ("gold", "faults", "unmeasured")},
    "show-legend": "show {mixed} --legend",
    "show-latest": "show latest",
    "show-ambiguous": "show 2026",
    "show-unknown": "show 19990101",
    "runs-framework": "runs --framework alpha",
    "runs-tag": "runs --tag mixed --tag later",
    "runs-status": "runs --status incomplete --limit 2",
    "runs-model": "runs --model scripted:loop --dataset mini --since 2026-03-01",
    "runs-none": "runs --model nobody",
    "runs-no-such-status": "runs --status lost",
    "trial-loop": "show {loop} reference/2 --full",
    "trial-giveup": "show {giveup} reference/1",
    "trial-bad-json": "show {bad_json} reference/5",
    "trial-unknown-tool": "show {unknown_tool} reference/6 --json",
    "trial-fault": "show {faults} langgraph/4/1",
    "trial-fault-json": "show {faults} langgraph/4/1 --json",
    "trial-crash": "show {kinds} omega/1",
    "trial-timeout": "show {kinds} omega/2",
    "trial-no-format": "show {kinds} omega/2 --format junit",
    "trial-endpoint": "show {kinds} omega/12 --json",
    "trial-attempt": "show {interrupted} --framework alpha --query 1 --attempt 1",
    "trial-first-attempt": "show {interrupted} --framework alpha --query 1 --attempt 0",
    "trial-shop": "show {shop} reference/shop-1",
    "trial-own-scores": "show {own_scores} reference/1/1",
    "trial-unsure": "show {mixed} alpha/11 --json",
    "trial-unknown": "show {mixed} alpha/99",
    "trial-no-framework": "show {mixed} nobody/1",
    **{
        f"compare-policies-{form}": f"compare {{gold}} {{partial}} {{wrong_args}} --force --format {form}"
        for form in FORMATS
    },
    "compare-policies": "compare {gold} {partial} {wrong_args} --force --legend",
    "compare-refused": "compare {gold} {partial}",
    "compare-one-framework": "compare {mixed}/reference {mixed}/beta",
    "compare-regression": "compare {wrong_args} {gold}/reference --force --fail-on-regression",
    "compare-regressed": "compare {gold}/reference {wrong_args} --force --fail-on-regression",
    "compare-incomplete": "compare {gold}/reference {interrupted}/reference --force",
    "compare-allow-incomplete": "compare {gold}/reference {interrupted}/reference --force --allow-incomplete --json",
    "compare-margin": "compare {gold}/reference {extra} --force --margin 0.2 --resamples 500 --seed 3 --json",
    "compare-own-scores": "compare {mixed}/beta {own_scores}/beta --force --json",
    "compare-preference": "compare {gold}/reference {partial}/reference --force --preference --judge rule",
    "compare-output": "compare {gold} {extra} --force --output compared.json",
    "compare-unknown": "compare {gold} 1999",
    "compare-mixed-inputs": "compare {gold} official.jsonl",
    "plan": "plan",
    "plan-pilot": "plan {own_scores} --queries 60 --repeat 1 --repeat 3",
    "plan-pilot-json": "plan {interrupted} --difference 0.2 --queries 40 --json",
    "plan-two-runs": "plan {gold}/reference {partial} --score api_call_score --queries 50",
    "plan-refused": "plan {gold} --score nothing",
    "export-mixed-otel": "export {faults} --format otel",
    "export-faults": "export {faults} --output trials.jsonl",
    "export-unknown": "export 1999",
    "data-list": "data list",
    "data-show": "data show mini",
    "data-show-query": "data show mini --query-id 11",
    "data-export": "data export {mixed} --output predictions",
    "score-conversations": "score {mixed} --metric tool_call_accuracy --order flexible",
    "score-conversations-json": "score {wrong_args} --metric tool_call_f1 --json",
    "select": "select --selector bm25 --selector keyword --k 1,5 --limit 12",
    "select-json": "select --selector bm25 --k 5 --limit 4 --json",
    "select-explain": "select --selector bm25 --k 3 --explain --query-id 11",
    "plugins": "plugins --json",
    "no-such-command": "sohw",
    "no-such-option": "run --modle x",
}
"""Commands that only read: they share a folder with a store of all runs."""

ON_VENDOR_FILES = {
    "compare-two": "compare official.jsonl acme.jsonl",
    **{f"compare-two-{form}": f"compare official.jsonl acme.jsonl --format {form}" for form in FORMATS},
    "compare-all": "compare --baseline official.jsonl --vendor acme.jsonl --vendor shy.jsonl --legend",
    "compare-all-json": "compare --baseline official.jsonl --vendor shy.jsonl --vendor lossy.jsonl --json",
    "compare-own": "compare own-official.jsonl own-acme.jsonl --force",
    "compare-coin": "compare own-official.jsonl own-coin.jsonl --fail-if different",
    "compare-fail-under": "compare official.jsonl acme.jsonl --fail-under f1=0.99",
    "compare-k2": "compare k2-a.jsonl k2-b.jsonl",
    "compare-gates": "compare official.jsonl acme.jsonl --gate-margin decision=0.2 --fail-if not-equivalent",
    "compare-page": "compare official.jsonl acme.jsonl shy.jsonl --page page.html --reply reply.txt",
    "compare-page-markdown": "compare official.jsonl acme.jsonl --page page.md",
    "compare-files": "compare official.jsonl shy.jsonl --output compared.json",
    "compare-other-cases": "compare official.jsonl own-acme.jsonl",
    "compare-missing": "compare official.jsonl absent.jsonl",
    "rank": "rank official.jsonl acme.jsonl shy.jsonl lossy.jsonl --baseline official",
    "rank-json": "rank official.jsonl acme.jsonl shy.jsonl --baseline official --json",
    **{
        f"rank-{form}": f"rank official.jsonl acme.jsonl --baseline official --format {form}"
        for form in ("csv", "markdown")
    },
    "rank-metrics": "rank official.jsonl shy.jsonl --baseline official --metrics success_rate,f1 --k 1",
    "rank-named": "rank a=k2-a.jsonl b=k2-b.jsonl --baseline a --model kimi --metrics available",
    "rank-table": "rank published_irf.csv",
    "rank-table-json": "rank published_irf.csv --k 10 --min-f1 0.8 --json",
    "rank-refused": "rank k2-a.jsonl k2-b.jsonl",
    "history": "history --file day-1.jsonl --file day-2.jsonl --file day-3.jsonl --file day-4.jsonl",
    "history-json": "history --file day-1.jsonl --file day-3.jsonl --file day-4.jsonl --fail-if-changed --json",
    "history-empty": "history",
    "plan-verify": "plan-verify",
    "plan-verify-cases": "plan-verify --flip-rate 0.1 --trials 5 --cases 400 --gate-margin decision=0.03",
    "plan-verify-baseline": "plan-verify --baseline official.jsonl --vendor-trials 2 --json",
    "suites": "verify --list-suites",
    "suites-json": "verify --list-suites --json",
    "test-set": "verify --suite triggering --write-test-set set.jsonl",
    "verify-nothing": "verify",
    "judge-cases": "judge cases",
    "judge-calibrate": "judge calibrate --judge rule",
    "judge-calibrate-json": "judge calibrate --judge rule --json",
    "score-calls": "score calls.jsonl",
    "score-calls-json": "score calls.jsonl --order flexible --json",
    "score-ragas": "score calls.jsonl --metric tool_call_f1 --compat ragas",
    "score-rules": "score calls.jsonl --rule search.query=text --rule id=ignore --show 2",
    "score-fail-under": "score calls.jsonl --fail-under tool_call_f1=0.99",
    "score-refused": "score published_irf.csv",
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
    "partial": [
        "run -j 1 --limit 4 --model scripted:partial --fail-under sopr_score=0.9 --fail-under api_call_score=0.1",
        "run -j 1 --limit 4 --model scripted:partial --fail-under sopr_score=0.9 --json",
    ],
    "formats": [f"run -j 1 --limit 2 --model scripted:extra --format {form}" for form in ("csv", "markdown", "junit")],
    "sweep": [
        "run -j 1 --limit 3 --selector bm25 --max-tools 2,8",
        "run -j 1 --limit 3 --selector bm25 --max-tools 2,8 --json",
    ],
    "loop": ["run -j 1 --limit 2 --model scripted:loop --max-steps 3 --repeat 2 --legend"],
    "extend": ["run -j 1 --limit 1", "run -j 1 --limit 2 --extend", "run -j 1 --limit 2 --repeat 2 --extend --json"],
    "retry": [
        "run -j 1 --limit 2 --model scripted:loop --max-steps 2",
        "run -j 1 --limit 2 --model scripted:loop --max-steps 2 --retry-failed",
    ],
    "regression": [
        "run -j 1 --limit 4 --output before",
        "run -j 1 --limit 4 --model scripted:none --fail-on-regression before/reference_mini.json",
    ],
    "gold-answers": ["run -j 1 --limit 2 --gold-answers --output documents"],
    "own-score": ["run -j 1 --limit 2 --fail-under politeness=0.9", "show latest --json", "show latest reference/1"],
    "own-queries": ["run -j 1 --dataset queries.json", "show latest"],
    "command": ["run -j 1 --limit 1 --command 'mine=false'"],
    "no-endpoint": [
        "run -j 1 --limit 1 --model m --base-url http://127.0.0.1:9/v1 --endpoint-patience 0 --model-retries 0"
    ],
    "refused-framework": ["run -j 1 --framework langgarph"],
    "refused-model": ["run -j 1 --model scripted:golden"],
    "refused-dataset": ["run -j 1 --dataset minni"],
    "refused-threshold": ["run -j 1 --limit 1 --fail-under sopr=1", "run -j 1 --limit 1 --fail-under sopr_score=much"],
    "refused-query": ["run -j 1 --query-id 999"],
}
"""Runs that are made: what is measured in them is left out."""
