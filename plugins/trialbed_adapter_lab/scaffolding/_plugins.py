"""Write a package for a plugin of each kind that the kit checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import UsageError
from trialbed.installed import offers
from trialbed_adapter_lab.scaffolding._names import AdapterNames, adapter_names
from trialbed_adapter_lab.scaffolding._package import template_files, write_files

TEMPLATES = Path(__file__).parent / "templates"
SHARED = (".gitignore", "tox.ini", ".github/workflows/test.yml")
"""Files of the adapters' template that a plugin's package has too."""

WORDS = re.compile("trialbed_new_plugin|NewPlugin|new-plugin|new-kind|new-word|new-target|new-command")


@dataclass(frozen=True)
class PluginTemplate:
    """The template of a kind.

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
    "dataset": PluginTemplate("datasets", "NewPluginDatasetDriver", "bench run --dataset new-plugin"),
    "simulator": PluginTemplate("simulators", "NewPluginSimulator", "bench serve --simulator new-plugin"),
    "model": PluginTemplate("models", "NewPluginModels", "bench run --limit 2 --model new-plugin:polite"),
    "executor": PluginTemplate("executors", "NewPluginExecutor", "bench run --limit 2 --executor new-plugin"),
}
"""The word for one plugin -> its template."""


def write_plugin(word: str, name: str, parent: Path) -> list[Path]:
    """Write a package for a plugin into a new folder, named like its distribution.

    Args:
        word: for the kind of plugin.
        name: that the plugin goes by.

    Returns:
        Its files, relative to ``parent``.

    Raises:
        UsageError: the name cannot be a plugin's, or an installed one has it; or the folder exists or cannot be made,
            and nothing is left behind.
    """
    names, template = adapter_names(name, "plugin"), PLUGIN_TEMPLATES[word]
    if offer := next((offer for offer in offers(template.kind) if offer.name == name), None):
        raise UsageError(
            f"{name!r} cannot be this plugin's name: {offer.distribution} {offer.version} offers a {word} of that "
            "name; take another"
        )
    package = Path("src", names.module)
    sources = {
        package / "__init__.py": f"{word}.py",
        Path("tests", "test_conformance.py"): "test_conformance.py",
        Path("README.md"): "README.md",
        Path("pyproject.toml"): "pyproject.toml",
    }
    made = {path: _fill(TEMPLATES / source, word, template, names) for path, source in sources.items()}
    shared = {path: content for path, content in template_files() if path.as_posix() in SHARED}
    files = {**made, package / "py.typed": b"", **shared}
    return write_files(names.distribution, parent, sorted(files.items()))


def plugin_steps(word: str, name: str, folder: Path) -> list[str]:
    """The commands that install the package, check the plugin and use it."""
    import shlex

    return [
        f"pip install -e {shlex.quote(f'{folder}[test]')}",
        f"bench plugin check {name} --kind {word}",
        PLUGIN_TEMPLATES[word].command.replace("new-plugin", name),
    ]


def _fill(source: Path, word: str, template: PluginTemplate, names: AdapterNames) -> bytes:
    target = template.target.replace("NewPlugin", names.title)
    words = {
        "trialbed_new_plugin": names.module,
        "NewPlugin": names.title,
        "new-plugin": names.framework,
        "new-kind": template.kind,
        "new-word": word,
        "new-target": f"{names.module}:{target}" if target else names.module,
        "new-command": template.command.replace("new-plugin", names.framework),
    }
    return WORDS.sub(lambda found: words[found[0]], source.read_text(encoding="utf-8")).encode()
