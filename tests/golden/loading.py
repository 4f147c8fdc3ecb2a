"""Load the inputs of the golden tests: stored runs and the result files of vendors."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from trialbed.records import GoldAnswer, Run, ToolSpec, TrialResult
from trialbed.store import Store

INPUTS = Path(__file__).parent / "inputs"


def load_runs(store: str) -> None:
    """Write all runs into the store of this file or URL, the oldest first."""
    documents = (json.loads(lzma.decompress(file.read_bytes())) for file in (INPUTS / "runs").glob("*.json.xz"))
    with Store.open(store) as opened:
        for document in sorted(documents, key=lambda document: str(document["run"]["created_at"])):
            write_run(opened, document)


def write_run(store: Store, document: dict[str, Any]) -> None:
    """Write the run of one document into a store."""
    run = Run.model_validate(document["run"])
    store.create_run(run)
    for query_id, selector, tools in document["selections"]:
        specs = tuple(ToolSpec.model_validate(tool) for tool in tools)
        store.add_selection(run.run_id, query_id, selector, specs)
    for answer in document["gold_answers"]:
        store.add_gold_answer(run.run_id, GoldAnswer.model_validate(answer))
    store.add_trials(run.run_id, [TrialResult.model_validate(trial) for trial in document["attempts"]])


def write_files(folder: Path) -> None:
    """Write the result files of vendors and the other files that commands read."""
    for file in (INPUTS / "vendors").glob("*.xz"):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    for file in (INPUTS / "files").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
