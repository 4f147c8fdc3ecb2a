"""Start a package for an adapter, which works before its author changes anything."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbed.environments import FIRST_PARTY
from trialbed.errors import UsageError
from trialbed.installed import offers
from trialbed.records import framework_name

MARK = "REPLACE"
"""Stands at every place of a template that the author of the package is to change."""

PREFIX = "trialbed-"
LONGEST = 50
FORM = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

INSTALLED = Path(__file__).parent / "template"
CHECKOUT = Path(__file__).parents[2] / "adapters" / "_template"
MADE = re.compile(r"__pycache__|build|dist|results|.*\.egg-info|\.(?!github$).*")
"""Folders that an installer or a developer made there."""


@dataclass(frozen=True)
class PackageNames:
    """The names derived from a framework's name."""

    name: str

    @property
    def distribution(self) -> str:
        """Return the name for ``pip install`` and the folder."""
        return f"{PREFIX}{self.name}"

    @property
    def module(self) -> str:
        """The name that ``import`` takes."""
        return self.distribution.replace("-", "_")

    @property
    def title(self) -> str:
        """The start of the names of classes."""
        return "".join(part.capitalize() for part in self.name.split("-"))

    def put_into(self, text: str) -> str:
        """Return a text of the template with these names in place of its own."""
        words = {"trialbed_new_framework": self.module, "NewFramework": self.title, "new-framework": self.name}
        return re.sub("|".join(words), lambda found: words[found[0]], text)


def free_names(name: str) -> PackageNames:
    """Return the names for a new framework."""
    if not (FORM.fullmatch(name) and not name.startswith(PREFIX) and len(name) <= LONGEST):
        raise UsageError(
            f"{name!r} cannot be the framework's name: it must be lower-case letters, digits and single dashes, begin "
            f"with a letter, have at most {LONGEST} characters, and not begin with {PREFIX!r}, which is added"
            f"{_suggestion(name)}"
        )
    names = PackageNames(name)
    owners = {framework_name(offer.name): offer.distribution for offer in offers("frameworks")}
    owner = owners.get(name) or (names.distribution if name in FIRST_PARTY else None)
    if owner is not None:
        raise UsageError(f"{owner} already provides the framework {name!r}; choose another name")
    return names


def _suggestion(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).removeprefix(PREFIX)
    tried = re.sub(r"^[^a-z]+", "", plain)[:LONGEST].strip("-")
    return f"; try {tried!r}" if FORM.fullmatch(tried) else ""


def write_package(names: PackageNames, parent: Path) -> list[Path]:
    """Write a package for an adapter into a new folder, named like its distribution; all of its files or none.

    Returns:
        Its files, relative to ``parent``.
    """
    folder, elsewhere = parent / names.distribution, "choose another folder with --output"
    if folder.exists():
        raise UsageError(f"{folder} already exists; remove it, or {elsewhere}")
    files = {names.put_into(str(path)): names.put_into(content.decode()) for path, content in _template_files()}
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{folder} cannot be written: {error.strerror}; {elsewhere}") from error
    return [Path(folder.name, path) for path in files]


def _template_files() -> Iterator[tuple[Path, bytes]]:
    folder = next((folder for folder in (INSTALLED, CHECKOUT) if folder.is_dir()), None)
    if folder is None:
        raise UsageError(f"{INSTALLED} is missing; reinstall trialbed")
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.is_file() and not any(MADE.fullmatch(part) for part in path.parent.parts):
            yield path, file.read_bytes()
