"""Checks, in a process of its own, that the tasks of a folder can be loaded from what the folder has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from trialbed.catalogs import open_dataset
from trialbed.errors import DataError, TrialbedError
from trialbed.files import read_bytes, temporary_folder
from trialbed_pages.publishing._replayed import replay_variables
from trialbed_pages.publishing._sources import PublishedDataset


def check_loads(dataset: PublishedDataset, digest: str, data_dir: Path) -> None:
    """Check that a dataset which is code is the same where only its published files are.

    Args:
        digest: that of the dataset in the run.

    Raises:
        DataError: it cannot be loaded there, or its tasks are others; says how files are added.
    """
    if dataset.name not in dataset.files or dataset.name.endswith(".json"):
        return
    with temporary_folder() as work:
        place = work.resolve()
        for name, path in dataset.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(read_bytes(path))
        found = _load(place, dataset.name, data_dir)
    if found.get("digest") == digest:
        return
    file, folder = dataset.files[dataset.name], (place / dataset.name).parent
    reason = found.get("error", "its tasks are others there").replace(f"{folder}{os.sep}", "")
    raise DataError(
        f"{file} cannot be loaded from its published files alone: {reason}; "
        f"{_advice(found.get('missing', ''), folder, file.parent)}"
    )


def _load(place: Path, name: str, data_dir: Path) -> dict[str, str]:
    """Load a file of tasks as a replay does, in a new process; returns what that printed."""
    command = [sys.executable, "-m", __name__, str(place / name), str(data_dir.resolve())]
    variables = replay_variables(os.environ) | {"PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run(command, cwd=place, env=variables, stdout=subprocess.PIPE, check=False)
    if ended.returncode:
        return {"error": f"Python ended with {ended.returncode}"}
    found: dict[str, str] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _advice(missing: str, folder: Path, own: Path) -> str:
    """Return how a file that is missing in the folder becomes part of it.

    Args:
        own: the folder of the user's own file of tasks.
    """
    if missing and not os.path.isabs(missing):
        return (
            f"its code looks for {missing} where a command is given: find it by Path(__file__), run the tasks again, "
            "and add the file with --include"
        )
    named = Path(missing).is_relative_to(folder)
    return f"add each file that it reads: --include {own / Path(missing).relative_to(folder) if named else 'FILE'}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def main(file: str, data_dir: str) -> None:
    """Print the digest of a dataset as JSON, or why it cannot be loaded, with the file that is missing."""
    try:
        found = {"digest": open_dataset(file, Path(data_dir)).digest()}
    except (TrialbedError, OSError) as error:
        missing = (str(one.filename) for one in _causes(error) if isinstance(one, FileNotFoundError) and one.filename)
        found = {"error": str(error), "missing": next(missing, "")}
    sys.stdout.write(f"\n{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
