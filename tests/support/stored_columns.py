"""Stored runs with columns of several models and judges, prices and slices, made of a stored run of five frameworks."""

from __future__ import annotations

import json
import lzma
from typing import Any

from golden.loading import INPUTS, write_run

from trialbed.records import Run, TrialResult
from trialbed.store import Store
from trialbed.wire_log import observed_usage

ORIGIN = "mixed"
FIRST, OTHER, THIRD = "scripted:gold", "scripted:partial", "scripted:extra"

CROSSED = "20260401T"
MODELS = "20260402T"

RATE = {"source": "by hand", "rates": [{"input": 2.5, "output": 10.0, "cached": 1.25}]}
OTHER_RATE = {"source": "by hand", "rates": [{"input": 0.15, "output": 0.6}]}

HELPER = {"role": "judge", "model": "gpt-4o-mini", "requests": 40, "usage": {"prompt_tokens": 9000}, "cost": 0.0375}


def load_columns(store: str) -> None:
    """Write the runs into the store of this file or URL."""
    with Store.open(store) as opened:
        # Two frameworks under two models, over a slice in a random order, with a second judge and recorded answers.
        crossed = {
            "reference": "reference",
            "alpha:native": "alpha:native",
            "beta:controlled": f"reference@{OTHER}",
            "gamma==1.1.0": f"alpha:native@{OTHER}",
        }
        run = _derived(CROSSED, crossed, [7, 3, 19, 1, 12, 4, 15, 9, 20, 2, 11])
        run["run"] |= {"prices": {FIRST: RATE, OTHER: OTHER_RATE}, "helpers": [HELPER]}
        _price(run)
        for number, attempt in enumerate(run["attempts"]):
            if attempt["key"]["framework"] == "alpha:native" and number % 2:
                attempt["wire"]["model_calls"][0]["recorded"] = 0.5
            attempt["scores"] += [
                {**score, "name": "sopr_score@strict", "value": 0.0 if number % 3 else score["value"]}
                for score in attempt["scores"]
                if score["name"] == "sopr_score"
            ]
        write_run(opened, run)
        # One framework under three models, of which two have prices.
        models = {
            "reference": "reference",
            "beta:controlled": f"reference@{OTHER}",
            "alpha:native": f"reference@{THIRD}",
        }
        run = _derived(MODELS, models, range(1, 21))
        run["run"] |= {"prices": {FIRST: RATE, THIRD: OTHER_RATE}}
        _price(run)
        write_run(opened, run)


def _price(document: dict[str, Any]) -> None:
    """Give trials the cost, and those with an answer the score, that they have in a run with prices."""
    run = Run.model_validate(document["run"])
    for attempt in document["attempts"]:
        prices = run.prices_of(attempt["key"]["framework"])
        result = TrialResult.model_validate(attempt)
        if prices is None:
            continue
        attempt["cost"] = sum(prices.cost(call.usage) for call in result.wire.model_calls if call.usage is not None)
        if not result.failed and observed_usage(result.wire) is not None:
            attempt["scores"].append({"name": "cost", "value": attempt["cost"], "bounded": False, "quality": False})


def _derived(beginning: str, labels: dict[str, str], queries: Any) -> dict[str, Any]:
    """The stored run with some of its frameworks as columns, by label, over some of its queries in this order."""
    document: dict[str, Any] = json.loads(lzma.decompress((INPUTS / "runs" / f"{ORIGIN}.json.xz").read_bytes()))
    run, config = document["run"], document["run"]["config"]
    known = dict.fromkeys(queries)
    run["run_id"] = f"{beginning}100000-0000aa"
    run["created_at"] = f"{beginning[:4]}-{beginning[4:6]}-{beginning[6:8]}T10:00:00Z"
    run["frameworks"] = [info | {"name": labels[info["name"]]} for info in run["frameworks"] if info["name"] in labels]
    config["query_ids"] = list(known)
    cells = {cell["label"]: cell for cell in config["cells"]}
    config["cells"] = [
        cells[label.partition("@")[0]] | {"label": label, "model": label.partition("@")[2] or FIRST}
        for label in labels.values()
    ]
    attempts = []
    for attempt in document["attempts"]:
        key = attempt["key"]
        if key["framework"] in labels and key["query_id"] in known:
            attempts.append(attempt | {"key": key | {"framework": labels[key["framework"]]}})
    selections = [selection for selection in document["selections"] if selection[0] in known]
    gold = [answer for answer in document["gold_answers"] if answer["query_id"] in known]
    return {"run": run, "attempts": attempts, "selections": selections, "gold_answers": gold}
