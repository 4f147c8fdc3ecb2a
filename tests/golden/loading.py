"""Load stored runs: documents that were written once and are read by every later version."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.memory_runs import ended_with

from trialbed.catalogs import known_queries
from trialbed.records import GoldAnswer, Query, Run, ToolSpec, TrialResult
from trialbed.store import Store

INPUTS = Path(__file__).parent / "inputs"


def load_runs(store: str, names: Iterable[str] | None = None) -> dict[str, str]:
    """Write runs into the store of this file or URL, the oldest first.

    Args:
        names: of the documents of those that are written; all of them if None.

    Returns:
        The ids by name.
    """
    known = INPUTS / "runs"
    chosen = sorted(file.name.partition(".")[0] for file in known.iterdir()) if names is None else names
    documents = {name: json.loads(lzma.decompress((known / f"{name}.json.xz").read_bytes())) for name in chosen}
    with Store.open(store) as opened:
        for document in sorted(documents.values(), key=lambda document: str(document["run"]["created_at"])):
            write_run(opened, document)
    return {name: document["run"]["run_id"] for name, document in documents.items()}


def write_run(store: Store, document: dict[str, Any]) -> None:
    """Write the run of one document into a store."""
    run = Run.model_validate(document["run"])
    store.create_run(run)
    for query_id, _, tools in document["selections"]:
        specs = tuple(ToolSpec.model_validate(tool) for tool in tools)
        store.add_selections(run.run_id, {query_id: specs}, run.config.cells[0].max_tools)
    for answer in document["gold_answers"]:
        store.add_gold_answer(run.run_id, GoldAnswer.model_validate(answer))
    queries = known_queries(run.config, INPUTS) or {}
    attempts = [TrialResult.model_validate(trial) for trial in document["attempts"]]
    store.add_trials(run.run_id, [_with_facts(store, run, one, queries.get(one.key.query_id)) for one in attempts])


def _with_facts(store: Store, run: Run, result: TrialResult, query: Query | None) -> TrialResult:
    """Return a trial with the facts that are computed when it ends, which the documents do not have."""
    if query is None:
        return result
    key = result.key
    most = run.config.cell(key.framework).max_tools
    tools = store.selections(run.run_id, [key.query_id], most).get(key.query_id, ())
    return ended_with(result, run, query, tools)


def write_vendors(folder: Path) -> None:
    """Write the result files of vendors."""
    for file in (INPUTS / "vendors").glob("*.xz"):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
