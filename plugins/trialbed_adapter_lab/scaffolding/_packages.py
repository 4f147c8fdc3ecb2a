"""The templates of packages, and the names that are put into them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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
CHECKOUT = Path(__file__).parents[3] / "adapters" / "_template"
MADE = re.compile(r"__pycache__|build|dist|results|.*\.egg-info|\.(?!github$).*")
"""Folders that an installer or a developer made there."""

SHARED = (".gitignore", "tox.ini", ".github/workflows/test.yml")
"""Files of the adapters' template that a plugin's package has too."""

PLUGINS = Path(__file__).parent / "templates"


class PluginTemplate(NamedTuple):
    """The template of a kind of plugin.

    Attributes:
        kind: its entry-point group, without ``trialbed.``.
        target: the class that its entry point names; empty where the module is the plugin.
        command: that uses it.
    """

    kind: str
    target: str
    command: str


PLUGIN_TEMPLATES: Mapping[str, PluginTemplate] = {
    "scorer": PluginTemplate("plugins", "", "bench run --limit 2"),
    "judge": PluginTemplate("judges", "NewPluginJudge", "bench run --limit 2 --judge new-plugin"),
    "selector": PluginTemplate("selectors", "NewPluginSelector", "bench run --limit 2 --selector new-plugin"),
    "simulator": PluginTemplate("simulators", "NewPluginSimulator", "bench serve --simulator new-plugin"),
    "model": PluginTemplate("models", "NewPluginModels", "bench run --limit 2 --model new-plugin:polite"),
}
"""The word for one plugin -> its template. Of datasets and executors, the guides have whole ones."""


@dataclass(frozen=True)
class PackageNames:
    """The names that follow from that of a framework or another plugin."""

    name: str

    @property
    def distribution(self) -> str:
        """The name that ``pip install`` takes, which is also the folder's."""
        return f"{PREFIX}{self.name}"

    @property
    def module(self) -> str:
        """The name that ``import`` takes."""
        return self.distribution.replace("-", "_")

    @property
    def title(self) -> str:
        """The start of the names of classes."""
        return "".join(part.capitalize() for part in self.name.split("-"))

    def put_into(self, text: str, word: str = "framework") -> str:
        """Return a text of a template with these names in place of its own.

        Args:
            word: ``framework`` or ``plugin``, of which the template is.
        """
        words = {f"trialbed_new_{word}": self.module, f"New{word.title()}": self.title, f"new-{word}": self.name}
        return _fill(text, words)


def free_names(name: str, word: str = "framework") -> PackageNames:
    """Return the names for a new framework or another plugin.

    Args:
        word: for the kind of plugin.
    """
    if not (FORM.fullmatch(name) and not name.startswith(PREFIX) and len(name) <= LONGEST):
        raise UsageError(
            f"{name!r} cannot be the {word}'s name: it must be lower-case letters, digits and single dashes, begin "
            f"with a letter, have at most {LONGEST} characters, and not begin with {PREFIX!r}, which is added"
            f"{_suggestion(name)}"
        )
    names, is_framework = PackageNames(name), word == "framework"
    kind = "frameworks" if is_framework else PLUGIN_TEMPLATES[word].kind
    owners = {framework_name(offer.name): offer.distribution for offer in offers(kind)}
    owner = owners.get(name) or (names.distribution if is_framework and name in FIRST_PARTY else None)
    if owner is not None:
        raise UsageError(f"{owner} already provides the {word} {name!r}; choose another name")
    return names


def _suggestion(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).removeprefix(PREFIX)
    tried = re.sub(r"^[^a-z]+", "", plain)[:LONGEST].strip("-")
    return f"; try {tried!r}" if FORM.fullmatch(tried) else ""


def write_package(names: PackageNames, parent: Path) -> list[Path]:
    """Write a package for an adapter into a new folder, named like its distribution.

    Returns:
        Its files, relative to ``parent``.
    """
    files = [
        (Path(names.put_into(str(path))), names.put_into(content.decode()).encode())
        for path, content in _template_files()
    ]
    return _write_files(parent / names.distribution, files)


def write_plugin(word: str, names: PackageNames, parent: Path) -> list[Path]:
    """Write a package for a plugin of a kind, whose word is given, as ``write_package`` does."""
    kind, target, command = PLUGIN_TEMPLATES[word]
    words = {
        "new-kind": kind,
        "new-word": word,
        "new-target": f"trialbed_new_plugin:{target}".rstrip(":"),
        "new-command": command,
    }
    files = {Path(f"src/{names.module}/py.typed"): b""}
    files |= {path: content for path, content in _template_files() if path.as_posix() in SHARED}
    for source in (f"{word}.py", "test_conformance.py", "README.md", "pyproject.toml"):
        place = {f"{word}.py": f"src/{names.module}/__init__.py", "test_conformance.py": f"tests/{source}"}.get(source)
        text = _fill((PLUGINS / source).read_text(encoding="utf-8"), words)
        files[Path(place or source)] = names.put_into(text, "plugin").encode()
    return _write_files(parent / names.distribution, sorted(files.items()))


def _fill(text: str, words: Mapping[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def _template_files() -> Iterator[tuple[Path, bytes]]:
    """Yield ``path in the package, content`` of the adapters' template."""
    folder = next((folder for folder in (INSTALLED, CHECKOUT) if folder.is_dir()), None)
    if folder is None:
        raise UsageError(f"{INSTALLED} is missing; reinstall trialbed")
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.is_file() and not any(MADE.fullmatch(part) for part in path.parent.parts):
            yield path, file.read_bytes()


def _write_files(folder: Path, files: Sequence[tuple[Path, bytes]]) -> list[Path]:
    """Write files into a new folder, and return their paths relative to its parent; all or none."""
    elsewhere = "choose another folder with --output"
    if folder.exists():
        raise UsageError(f"{folder} already exists; remove it, or {elsewhere}")
    try:
        for path, content in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{folder} cannot be written: {error.strerror}; {elsewhere}") from error
    return [Path(folder.name, path) for path, _ in files]
