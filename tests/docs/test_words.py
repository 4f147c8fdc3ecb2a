"""What people read speaks of tasks, tools, expected calls and setups; keys and options keep their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from trialbed.cli import cli
from trialbed.records import score_title
from trialbed_adapter_lab.probes import PROBES
from trialbed_plugins.scorers import CATALOG

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / name for name in ("core", "plugins", "server", "tool_selection")]
OLD = re.compile(
    r"\b([Qq]uer(y|ies)|QUERY|Apis?|[Gg]old|[Ss]et-ups?|claimed_vs_observed|[Ww]orst tasks|reference loop)\b"
)

ALLOWED = re.compile(
    r"--[\w-]+|`[^`]*`|scripted:[\w-]+|\bAPIs?\b"  # options, code, and the protocols of others
    r"|\(query\b[^)]*\)|query_id|api_list|queries\[|(search\.)?query=text|\.query\b"  # parameters and keys
    r"|selector query|default: query|default: quer"  # the selector of this name
    r"|(password, a|without|reaches no endpoint with a|header or a) query|(into the|object of a) query"  # of a URL
)
"""Keys, options, names of parameters, and words of others."""

EXEMPT = {
    "core/trialbed/tasks/_dataset.py": "writes JSON",
    "plugins/trialbed_adapter_lab/fuzz.py": "sends tasks to frameworks, whose recorded results depend on the text",
    "plugins/trialbed_adapter_lab/probes": "the same; what people read of a probe is checked above",
    "plugins/trialbed_adapter_lab/trials.py": "the same",
    "plugins/trialbed_evaluation/judges": "prompts of judges, which their agreement with labels depends on",
    "plugins/trialbed_plugins/datasets/_queries.py": "names a key of the file",
    "plugins/trialbed_plugins/datasets/stabletoolbench": "reads and writes another project's files, in its words",
    "plugins/trialbed_tasks/reading.py": "names the keys of a file of tasks",
    "plugins/trialbed_tasks/drafting.py": "writes a file of tasks",
    "plugins/trialbed_tools/command.py": "writes a file of tasks",
    "server/trialbed_server/simulators": "prompts of simulators",
}
"""Modules with texts that are not for people, and the reason."""

SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|JOIN|WHERE)\b")
TAGS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<style.*?</style>|<[^>]*>", re.DOTALL)


def old_words(text: str) -> list[str]:
    """Return the old words of a text, each with what stands around it."""
    text = ALLOWED.sub("", text)
    return [text[max(0, found.start() - 40) : found.end() + 20] for found in OLD.finditer(text)]


def helps(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """Yield each command with its help."""
    context = click.Context(command, info_name=path, parent=parent)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from helps(found, name, context)


def sentences(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that have several words, with their lines; docstrings are for developers."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docs:
            continue
        text = node.value
        if isinstance(text, str) and " " in text.strip() and not SQL.search(text) and '"' not in text:
            yield node.lineno, text


def test_the_help_of_every_command() -> None:
    assert {name: found for name, text in helps(cli, "bench") if (found := old_words(text))} == {}


def test_titles_and_meanings_of_scores() -> None:
    texts = [(score.name, f"{score_title(score.name)}: {score.meaning}; {score.missing}") for score in CATALOG]
    assert {name: found for name, text in texts if (found := old_words(text))} == {}
    assert [score.name for score in CATALOG if "_" in score_title(score.name)] == []


def test_behaviours_reasons_and_hints_of_probes() -> None:
    texts = [(probe.name, f"{probe.summary} {probe.reason} {probe.hint}") for probe in PROBES]
    assert {name: found for name, text in texts if (found := old_words(text))} == {}


@pytest.mark.parametrize("folder", SOURCES, ids=lambda folder: folder.name)
def test_texts_in_code_and_on_pages(folder: Path) -> None:
    found = []
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(ROOT).as_posix()
        if any(name.startswith(exempt) for exempt in EXEMPT):
            continue
        if file.suffix == ".py":
            found += [(f"{name}:{line}", one) for line, text in sentences(file) for one in old_words(text)]
        elif file.suffix == ".html":
            found += [(name, one) for one in old_words(TAGS.sub("", file.read_text(encoding="utf-8")))]
    assert found == []
