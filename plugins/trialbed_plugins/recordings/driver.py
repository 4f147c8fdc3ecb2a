"""The driver for recorded models: ``replay:FILE``, ``replay:RUN``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from trialbed.contracts import (
    ModelDriver,
    ModelInfo,
    ModelQuestion,
    ModelReply,
    OpenedModel,
    ReplyMissing,
    ServedAnswer,
    TrialModel,
)
from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_folder
from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings, state_dir
from trialbed.store import open_store
from trialbed.wire import read_served
from trialbed.wire.dialects import CHAT
from trialbed_plugins.recordings._cassette import Cassette, read_cassette, write_cassette
from trialbed_plugins.recordings._of_run import recording_of
from trialbed_plugins.recordings._requests import (
    IGNORING,
    WORDS,
    apply_masks,
    canonical,
    canonical_text,
    differences,
    find_masks,
    nearest,
)

MOST = 100
"""Recorded requests to check for differences that masks could ignore."""


class ReplayedModel(TrialModel):
    """Answers a trial's requests with recorded answers.

    Args:
        ask: asks the endpoint if there is no recorded answer.
    """

    def __init__(self, cassette: Cassette, registration: TrialRegistration, *, ask: bool) -> None:
        self.asks = cassette.model
        self._cassette = cassette
        self._ask = ask
        self._seed = registration.seed
        self._names = frozenset({registration.model_name or "", registration.model, cassette.told, cassette.model})
        self._answered: Counter[str] = Counter()

    async def answer(self, question: ModelQuestion) -> ModelReply | None:
        """Return the recorded answer.

        Raises:
            ReplyMissing: the request was not recorded; the message shows the difference.
        """
        request = canonical(question.request.whole, self._names)
        if self._cassette.ignored:
            request = await asyncio.to_thread(apply_masks, request, self._cassette.ignored)
        text = canonical_text(request)
        found = self._cassette.find(text, seed=self._seed, occurrence=self._answered[text])
        if found is not None and (found.dialect or CHAT) == question.dialect.NAME:
            self._answered[text] += 1
            body = found.body.encode("utf-8", "surrogatepass")
            return reply_of(ServedAnswer(body, found.stream, found.duration), question)
        if self._ask:
            return None
        why = await asyncio.to_thread(self._why, request, self._answered[text])
        raise ReplyMissing(f"request {question.place + 1} {why}")

    def _why(self, request: dict[str, object], times: int) -> str:
        known = self._cassette.of_seed(self._seed)
        if not known:
            return "is of a task, repeat or seed that was not recorded"
        if times:
            return f"was recorded {times} times, and is asked once more"
        requests = [reply.request for reply in known]
        ignoring = ((one, find_masks(one, request)) for one in requests[:MOST])
        candidate, ignored = next((pair for pair in ignoring if pair[1] and {*pair[1]} <= {*WORDS}), (None, ()))
        difference = next(differences(candidate or nearest(request, requests) or {}, request), None)
        if difference is None:
            return "was answered in another dialect"
        remedy = f" (bench record with --ignore {' --ignore '.join(ignored)} makes a recording that has it)"
        return f"is not the recorded one: {difference.text}{remedy if ignored else ''}"


def reply_of(found: ServedAnswer, question: ModelQuestion) -> ModelReply:
    """Return the recorded bytes if the request wants the same form, or else the same answer, whole or streamed."""
    if found.stream == question.request.stream:
        return ModelReply(body=found.body, recorded=found.duration)
    reading = read_served(question.dialect.NAME, found.body, question.request, stream=found.stream)
    return ModelReply(answer=reading.answer, recorded=found.duration)


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
            raise UsageError(f"--model: replay:latest would mean another run each time; name the run: replay:{latest}")
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
