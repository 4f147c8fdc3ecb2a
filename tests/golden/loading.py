"""Load stored runs: documents that were written once and are read by every later version."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trialbed.records import GoldAnswer, Run, ToolSpec, TrialResult
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
    for query_id, selector, tools in document["selections"]:
        specs = tuple(ToolSpec.model_validate(tool) for tool in tools)
        store.add_selections(run.run_id, selector, {query_id: specs})
    for answer in document["gold_answers"]:
        store.add_gold_answer(run.run_id, GoldAnswer.model_validate(answer))
    store.add_trials(run.run_id, [TrialResult.model_validate(trial) for trial in document["attempts"]])


def write_vendors(folder: Path) -> None:
    """Write the result files of vendors."""
    for file in (INPUTS / "vendors").glob("*.xz"):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
