"""The driver for recorded models: ``replay:FILE``, ``replay:RUN``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel, TrialModel
from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_folder
from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings, state_dir
from trialbed.store import open_store
from trialbed_plugins.recordings._cassette import Cassette, read_cassette, write_cassette
from trialbed_plugins.recordings._key import IGNORING
from trialbed_plugins.recordings._of_run import recording_of
from trialbed_plugins.recordings._replayed import ReplayedModel

ENDING = ".cassette"
EMBEDDED = files("trialbed_plugins.recordings") / "embedded"
"""Cassettes included in Trialbed, of small models on the embedded dataset."""

ASK = "ask"
MODES = ("stop", ASK)


class ReplayModels(ModelDriver):
    """Recorded models, which give their recorded answers without a key or the model."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - they are in this folder
        """Return the names of the cassettes in Trialbed and the files in this folder."""
        here = sorted(path.name for path in Path.cwd().glob(f"*{ENDING}"))
        return [*sorted(path.stem for path in Path(str(EMBEDDED)).glob(f"*{ENDING}")), *here]

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe the recording."""
        if name == "latest" and _file_of(name) is None:
            with open_store(settings.store) as reader:
                latest = reader.run(name).run_id
            raise UsageError(f"--model: replay:latest would be another run each time; name it: replay:{latest}")
        cassette = cassette_named(name, settings.store)
        asks = settings.on_miss == ASK
        return ModelInfo(
            identity=f"{cassette.digest}{IGNORING if cassette.ignored else ''}{', '.join(cassette.ignored)}",
            told_name=cassette.told,
            at_endpoint=asks,
            costs=None if asks else False,
            deterministic=None if asks else True,
            cached=False,
            answers_seed=None if asks else cassette.has_seed,
            needs=f"the model {cassette.model} at --base-url, for what was not recorded" if asks else "",
        )

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """Yield a file for the server. For a run, the recording is written first."""
        path = await asyncio.to_thread(_path, name, settings.store)
        ignored = ", ".join(_file(path).ignored)
        notes = (f"the recording ignores in requests: {ignored}",) if ignored else ()
        yield OpenedModel(model=f"{self.scheme}:{settings.on_miss}:{path}", notes=notes)

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel:
        """Return the recorded model for a trial. ``name`` is the one from ``open``."""
        mode, _, path = name.partition(":")
        if mode not in MODES or not Path(path).is_file():
            raise UsageError(f"there is no recording {name!r} on the server; it is named {MODES[0]}:FILE or {ASK}:FILE")
        return ReplayedModel(_file(Path(path)), registration, ask=mode == ASK)


def _path(name: str, store: str) -> Path:
    """Return the file of a recording. For a run, it is written if missing."""
    path = _file_of(name)
    if path is None:
        cassette = cassette_named(name, store)
        path = state_dir() / "cassettes" / f"{cassette.digest}{ENDING}"
        if not path.is_file():
            make_private_folder(path.parent)
            write_cassette(cassette, path)
    return path.resolve()


def _file_of(name: str) -> Path | None:
    """Return the file for a name, on this machine or in Trialbed."""
    found = (path for path in (Path(name), Path(str(EMBEDDED / f"{name}{ENDING}"))) if path.is_file())
    return next(found, None)


def cassette_named(name: str, store: str) -> Cassette:
    """Return the recording in a file, in Trialbed, or of a run in the store.

    Raises:
        UsageError: there is no such file or run.
        DataError: the file is not a cassette.
    """
    path = _file_of(name)
    if path is not None:
        return _file(path)
    if not name:
        raise UsageError("replay: names no recording; name a file or a run: replay:FILE, replay:RUN")
    try:
        with open_store(store) as reader:
            run, mark = reader.run(name), reader.mark
    except (DataError, UsageError) as error:
        known = ", ".join(sorted(path.stem for path in Path(str(EMBEDDED)).glob(f"*{ENDING}")))
        raise UsageError(
            f"there is neither a file {name!r} nor such a run: {error}; recordings that come with Trialbed: {known}"
        ) from error
    return _run(run.run_id, store, mark)


def _file(path: Path) -> Cassette:
    status = path.stat()
    return _cassette(path.resolve(), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _cassette(path: Path, _changed: int, _size: int) -> Cassette:
    return read_cassette(path)


@lru_cache(maxsize=4)
def _run(run_id: str, store: str, _mark: object) -> Cassette:
    with open_store(store) as reader:
        cassette, _ = recording_of(reader.run(run_id))
    if not cassette.replies:
        raise UsageError(f"run {run_id} has no answer of a model to replay")
    return cassette
