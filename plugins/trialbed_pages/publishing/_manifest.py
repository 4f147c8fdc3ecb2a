"""The manifest of published results: the origin of each run, its replay, and the digest of each file.

A folder may come from someone else, so a replay accepts only manifests in the form that ``bench publish`` writes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from trialbed.errors import DataError
from trialbed.files import read_text
from trialbed.records import Record, SparseRecord
from trialbed.settings import declared_settings, is_secret

DATASETS = "datasets"
"""The folder of the files of datasets."""

FRAMEWORK, AGAINST, QUERY, MARGIN = "--framework", "--against", "--query-id", "--margin"

ASKING = ("judge_model", "selector_model", "simulator_model", "user_model")
"""Settings that name helper models, which are not recorded."""

HERE = ("commands", "judge_prompts", "sandbox")
"""Settings that depend on the programs, folders and kernel of the run's machine."""

LEFT_OUT = frozenset({"dataset", "model", "model_name", "base_url", "on_miss", "frameworks", *ASKING, *HERE})
"""Settings whose arguments are the replay's own, are told apart, or with which no run is made again."""

FOLDERS = ("TRIALBED_DATA_DIR", "TRIALBED_ENV_DIR", "TRIALBED_INDEX_DIR", "TRIALBED_WEIGHTS_DIR")
"""The variables of Trialbed that a replay keeps: others are settings of the user's own runs."""

RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
DATASET = re.compile(r"[A-Za-z0-9][\w.+-]*(:[\w.+ -]+)?")

PLAIN = {
    FRAMEWORK: re.compile(r"[A-Za-z0-9][\w-]*(:[\w-]+)?(==[\w.+!-]+)?"),
    "--selector": re.compile(r"[\w-]+"),
    "--judge": re.compile(r"[\w.-]+"),
    "--catalog": re.compile(r"[\w-]+(:[\w+ -]+)?"),
    "--faults": re.compile(r"\A\{.*\}", re.DOTALL),
}
"""The values of options that may otherwise name a file, Python code in one, or an address."""


def replay_variables(own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a replay, without keys and without settings other than folders."""
    kept = {
        name: value for name, value in own.items() if not is_secret(name, value) and not name.startswith("TRIALBED_")
    }
    return kept | {name: str(Path(own[name]).resolve()) for name in FOLDERS if own.get(name)}


def replayed_settings() -> dict[str, str]:
    """Return the settings of a run's identity that a replay gets as arguments: name -> option."""
    return {
        item.name: item.setting.option[-1]
        for item in declared_settings()
        if item.identity and item.name not in LEFT_OUT
    }


def wrong_source(dataset: str, arguments: Sequence[str], files: Container[str]) -> str:
    """Describe a request that a replay must reject; empty if the source has the form that ``bench publish`` writes.

    Args:
        files: the names of the folder's files.
    """
    in_folder = dataset.startswith(f"{DATASETS}/") and dataset in files
    if not in_folder and (not DATASET.fullmatch(dataset) or ".py" in dataset):
        return f"{dataset!r:.60} is neither a dataset's name nor a file of the folder below {DATASETS}"
    if len(arguments) % 2:
        return "an option has no value"
    known = {FRAMEWORK, AGAINST, QUERY, MARGIN, *replayed_settings().values()}
    for option, value in zip(arguments[::2], arguments[1::2], strict=True):
        if option not in known:
            return f"{option!r:.60} is not an option of a replay"
        form = PLAIN.get(option)
        if form is not None and (not form.fullmatch(value) or (option != "--faults" and ".py" in value)):
            return f"{option} {value!r:.60} is not what a replay may be asked for"
    return ""


T = TypeVar("T")
PAGE = re.compile(r"runs/[\w.-]+\.html")
NAME = "published.json"
FORMAT = "trialbed publication"
VERSION = 1

NUMBERS = "numbers.json"
"""The file of the numbers of all runs."""


class RunSource(Record):
    """The origin of a published run's numbers.

    Attributes:
        name: the run's id, which names it in the folder.
        began: start time, in UTC.
        identity: the driver's identity of the model; empty if the name is enough.
        dataset: its name for the command, or a file of the folder.
        recording: the file with the model's ``answers`` answers.
        arguments: for ``bench run``, without the dataset and the model.
        environments: framework -> the file with the packages of its own environment.
        cannot: why it cannot be reproduced, or empty.
    """

    name: str
    began: str
    trialbed: str
    model: str
    identity: str
    dataset: str
    recording: str
    answers: int
    arguments: tuple[str, ...]
    environments: dict[str, str]
    cannot: str = ""


class PublishedPage(Record):
    """A page about no run of frameworks, such as one about vendors; it is published once and not made again.

    Attributes:
        title: its heading.
        file: its name in the folder.
        sources: the run, or the results files with their SHA-256, that it shows.
        trialbed: the version that made it.
    """

    title: str
    file: str
    sources: tuple[str, ...]
    trialbed: str


class PublicationManifest(SparseRecord):
    """The manifest of a folder of published results.

    Attributes:
        about: the authors' words, a paragraph each.
        made: files that ``bench reproduce`` makes again, byte for byte.
        files: name in the folder -> SHA-256, of every file but the manifest.
    """

    sparse: ClassVar[tuple[str, ...]] = ("pages",)

    format: str = FORMAT
    version: int = VERSION
    about: tuple[str, ...] = ()
    runs: tuple[RunSource, ...]
    pages: tuple[PublishedPage, ...] = ()
    made: tuple[str, ...] = ()
    files: dict[str, str] = Field(default={})

    @property
    def kept(self) -> dict[str, str]:
        """The files that are evidence, and are not made again."""
        return {name: digest for name, digest in self.files.items() if name not in self.made}


def read_manifest(folder: Path) -> PublicationManifest:
    """Read the manifest of a folder.

    Raises:
        DataError: it is missing or unreadable, or asks for more than a replay does.
    """
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"{folder} has no published results: there is no {NAME}; `bench publish RUN -o DIR` makes them")
    found = read_published(path, TypeAdapter(PublicationManifest))
    if (found.format, found.version) != (FORMAT, VERSION):
        raise DataError(f"{path} is of {found.format!r}, version {found.version}; this Trialbed reads {VERSION}")
    for name in (*found.files, *(run.recording for run in found.runs)):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise DataError(f"{path}: {name!r} is not a file of the folder")
    if NUMBERS not in found.files:
        raise DataError(f"{path} is not as `bench publish` writes it: it does not have {NUMBERS}")
    for page in found.pages:
        if page.file not in found.files or not PAGE.fullmatch(page.file):
            raise DataError(f"{path}: {page.file!r:.60} is not a page of the folder")
    for run in found.runs:
        if run.recording not in found.files:
            raise DataError(f"{path}: run {run.name}: {run.recording!r} is not a file of the folder")
        if not RUN.fullmatch(run.name):
            raise DataError(f"{path}: {run.name!r:.60} is not the id of a run")
        # The arguments of a run that cannot be made again are shown, and given to nothing.
        if wrong := "" if run.cannot else wrong_source(run.dataset, run.arguments, found.files):
            raise DataError(f"{path}: run {run.name}: {wrong}")
    if len({run.name for run in found.runs}) < len(found.runs):
        raise DataError(f"{path}: two runs have the same name")
    return found


def changed_files(folder: Path, manifest: PublicationManifest) -> Iterator[str]:
    """Yield the files of a folder that are not the published ones, each with its fault."""
    for name, digest in manifest.files.items():
        path = folder / name
        try:
            if not path.is_file():
                # Pages and figures follow from the numbers, so a folder may lack them.
                if name == NUMBERS or name not in manifest.made:
                    yield f"{name} is missing"
            elif not path.resolve().is_relative_to(folder.resolve()):
                yield f"{name} is a link to a file outside of the folder"
            elif digest_of(path) != digest:
                yield f"{name} was changed"
        except OSError as error:
            yield f"{name:.60} cannot be read: {error.strerror}"


def check_unchanged(folder: Path, manifest: PublicationManifest) -> None:
    """Check that a folder holds the published files.

    Raises:
        DataError: a file was changed, or an irreproducible file is missing; names each.
    """
    if wrong := list(changed_files(folder, manifest)):
        raise DataError(f"{folder} has changed since it was published: {'; '.join(wrong)}")


def read_published(path: Path, form: TypeAdapter[T]) -> T:
    """Read a file of published results.

    Raises:
        DataError: it cannot be read, or has another form.
    """
    try:
        return form.validate_json(read_text(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{path} is not as `bench publish` writes it: {where}: {first['msg']}") from error


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
