"""Keeps the answers that a real model gave in a trial, for later test runs."""

from __future__ import annotations

from pathlib import Path

from trialbed.engine import SingleTrial
from trialbed.errors import DataError, UsageError
from trialbed.files import temporary_folder
from trialbed.store import open_run


def record(single: SingleTrial, file: Path) -> None:
    """Write the answers of a trial's model to a file, as ``bench record`` does.

    Raises:
        DataError: the model answered nothing, or the file cannot be written.
    """
    from trialbed_plugins.recordings import recording_of, write_cassette

    with temporary_folder() as folder:
        store = str(folder / "recorded.db")
        single.keep(store)
        recording = recording_of(open_run(single.run.run_id, store), None)
    if recording.cut:
        raise DataError(
            f"{file}: {recording.cut} requests of this trial are too long to be recorded; set max_answer lower"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_cassette(recording.cassette, file)


def check_recording(file: Path, model: str) -> None:
    """See that a recording is of the model that a test asks for.

    Raises:
        UsageError: it is of another one.
        DataError: it cannot be read.
    """
    from trialbed_plugins.recordings import read_cassette

    recorded = read_cassette(file).model
    if recorded != model:
        raise UsageError(
            f"{file} is a recording of {recorded}, and not of {model}: give --trialbed-record once to ask it"
        )
