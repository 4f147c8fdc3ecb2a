"""Write the parts of the documentation that the code knows best, or check that they are fresh.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; its name is a key of ``PARTS``.

    python docs/generate.py            writes them
    python docs/generate.py --check    exits with 1 if any is stale, and names it
"""

from __future__ import annotations

import configparser
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click

import trialbed
import trialbed_adapter_kit
from trialbed import chat, contracts, errors, hookspecs
from trialbed.cli import cli
from trialbed.cli._group import COMMANDS
from trialbed.cli.compare import CompareCommand
from trialbed.drivers import GROUPS, list_drivers
from trialbed.records import FailureKind
from trialbed.results import document_schema
from trialbed.run_settings import declared_settings
from trialbed_adapter_kit.checks import THEMES
from trialbed_server.faults import ANSWERS, FAULTS, About
from trialbed_server.gateway.scripted.policies import POLICIES
from trialbed_verify.verification.results import vocabulary

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FAMILY = re.compile(r"^# -- (.+?) -+$")
DEFAULT = re.compile(r" \[default: (.+)\]$")
NAMED = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): ")
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Class attributes):$")


def main(arguments: list[str]) -> int:
    """Write or check every page; the exit code."""
    stale = [page for page in sorted(DOCS.rglob("*.md")) if generated(page.read_text()) != page.read_text()]
    if "--check" in arguments:
        for page in stale:
            sys.stderr.write(f"{page.relative_to(ROOT)} is stale; run python docs/generate.py\n")
        return 1 if stale else 0
    for page in stale:
        page.write_text(generated(page.read_text()))
        sys.stdout.write(f"wrote {page.relative_to(ROOT)}\n")
    return 0


def generated(text: str) -> str:
    """The page with every generated part as it should be."""
    return PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[3]}", text)


def commands() -> str:
    """Every command: usage, help, arguments, options and examples."""
    return "\n\n".join(_command(path, command) for path, command in walk_commands())


def walk_commands() -> Iterator[tuple[str, click.Command]]:
    """``path -> command`` of every built-in command that is no group, sorted."""
    for name in own_commands():
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in sorted(command.commands))
        elif command is not None:
            yield name, command


def own_commands() -> list[str]:
    """The names of Trialbed's own commands, without those of other distributions here."""
    return sorted(
        {*COMMANDS, *(driver.name for driver in list_drivers("commands") if driver.distribution == "trialbed")}
    )


def settings() -> str:
    """Every option that a variable or a settings file can set."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, command in walk_commands():
        for option in _options(command):
            for name in _long_names(option) if option.envvar else ():
                found.setdefault((name, str(option.envvar)), []).append(path)
    rows = [
        (f"`--{name}`", f"`{variable}`", ", ".join(f"`{path}`" for path in paths), _keys_in_file(name, paths))
        for (name, variable), paths in sorted(found.items())
    ]
    return _table(("option", "variable", "commands", "in the settings file"), rows)


def run_settings() -> str:
    """Every setting of a run, and what follows from its declaration."""
    rows = [
        (
            f"`{setting.setting.option[-1]}`",
            _escaped(setting.setting.help.partition(" [default")[0]),
            "yes" if setting.identity else "",
            f"`{setting.document}`" if setting.document else "",
        )
        for setting in declared_settings()
    ]
    return _table(("setting", "meaning", "part of the run's identity", "in the document's `metadata`"), rows)


def hooks() -> str:
    """Every hook by family, in the order of the source, with its manual."""
    lines: list[str] = []
    source = inspect.getsource(hookspecs).splitlines()
    for number, line in enumerate(source):
        if family := FAMILY.match(line):
            lines.append(f"## {family[1][0].upper()}{family[1][1:]}\n")
        elif line == "@hookspec":
            name = source[number + 1].split("(")[0].removeprefix("def ")
            lines.append(_manual(name, getattr(hookspecs, name)))
    return "\n".join(lines)


def drivers() -> str:
    """Every driver of the main distribution by kind."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    groups = setup["options.entry_points"]
    rows = [
        (f"`{group}`", f"`{line.split('=')[0].strip()}`", _first(_load(line.split("=")[1].strip())))
        for kind, group in GROUPS.items()
        if kind != "components"
        for line in groups.get(group, "").strip().splitlines()
    ]
    return _table(("group", "driver", "what it is"), rows)


def contract_classes() -> str:
    """The contracts: each class with its members."""
    classes = [getattr(contracts, name) for name in contracts.__all__]
    chosen = [
        item for item in classes if inspect.isclass(item) and (inspect.isabstract(item) or item is contracts.Vendor)
    ]
    return "\n\n".join(_contract(item) for item in chosen)


def error_tree() -> str:
    """The error tree, then each error with its exit code."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("::\n")[1].split("\nThe text")[0]
    drawing = "\n".join(line.removeprefix("    ") for line in tree.strip("\n").splitlines())
    rows = [
        (f"`{name}`", str(getattr(errors, name).exit_code), _first(getattr(errors, name))) for name in errors.__all__
    ]
    return f"```text\n{drawing.rstrip()}\n```\n\n" + _table(("error", "exit code", "meaning"), rows)


def failure_kinds() -> str:
    """Why a trial has no result: every kind, with the comment beside it."""
    source = (ROOT / "core/trialbed/records/_scores.py").read_text()
    comments = dict(re.findall(r'^    "([a-z]+)",  # (.+)$', source, re.MULTILINE))
    return _table(("kind", "meaning"), [(f"`{kind}`", comments[kind]) for kind in get_args(FailureKind)])


def policies() -> str:
    """Every policy and what it plays."""
    return _table(("model", "what it plays"), [(f"`scripted:{name}`", _first(play)) for name, play in POLICIES.items()])


def outcomes() -> str:
    """How a case of a verification can end."""
    return _words("outcome", vocabulary.OUTCOMES)


def problem_kinds() -> str:
    """Every kind of failure of a verified vendor."""
    return _words("kind", vocabulary.PROBLEMS)


def call_reasons() -> str:
    """Why a call of a verified vendor is wrong."""
    return _words("reason", vocabulary.CALL_REASONS)


def oddities() -> str:
    """What is noted of an answer and is no failure."""
    return _words("note", vocabulary.NOTES)


def vendor_drivers() -> str:
    """Every vendor of ``trialbed-vendors``: where it is, whose key it needs, which names of models it maps."""
    found = [entry for entry in entry_points(group=GROUPS["vendors"]) if entry.value.startswith("trialbed_vendors")]
    return _table(
        ("name", "endpoint", "key", "models it has a name of its own for"),
        [_vendor(entry.name, entry.load()) for entry in sorted(found, key=lambda entry: entry.name)],
    )


def faults() -> str:
    """Every fault that ``bench serve --faults`` can do."""
    return _table(("fault", "what it does", "settings"), [_about(name, about) for name, about in FAULTS.items()])


def fault_answers() -> str:
    """What can be set of the right answers of ``bench serve --faults``."""
    rows = [(f"`{name}`", about.text, _default_of(about.settings[name])) for name, about in ANSWERS.items()]
    return _table(("key", "meaning", "default"), rows)


def public_names() -> str:
    """Every name that ``trialbed`` offers."""
    return _table(("name", "what it is"), [(f"`{name}`", _meaning(name)) for name in trialbed.__all__])


def chat_names() -> str:
    """Every name that ``trialbed.chat`` offers."""
    constants = {
        "ANSWERED": "the outcomes that are answers",
        "DONE_EVENT": "the event that ends a stream",
        "Outcome": "the type of an outcome",
    }
    rows = [(f"`{name}`", constants.get(name) or _first(getattr(chat, name))) for name in chat.__all__]
    return _table(("name", "what it is"), rows)


def benchmark() -> str:
    """``run_benchmark`` with its manual."""
    return _manual("run_benchmark", trialbed.run_benchmark)


def reading() -> str:
    """How runs and trials are read: each class with its members."""
    return "\n\n".join(
        [_manual("open_store", trialbed.open_store)]
        + [_reading(item) for item in (trialbed.StoreReader, trialbed.StoredRun, trialbed.StoredTrial)]
    )


def checks() -> str:
    """Every check of the conformance kit, by theme: name, level, what it looks at, why, and a hint."""
    return "\n\n".join(_theme(theme) for theme in THEMES)


def kit_names() -> str:
    """Every name that ``trialbed_adapter_kit`` offers."""
    rows = [(f"`{name}`", _of_kit(getattr(trialbed_adapter_kit, name), name)) for name in trialbed_adapter_kit.__all__]
    return _table(("name", "what it is"), rows)


def document_keys() -> str:
    """Every key of the result document that its schema requires or describes."""
    return "\n".join(_keys(document_schema(), document_schema(), ()))


PARTS: dict[str, Callable[[], str]] = {
    "benchmark": benchmark,
    "call-reasons": call_reasons,
    "chat-names": chat_names,
    "checks": checks,
    "commands": commands,
    "contracts": contract_classes,
    "document-keys": document_keys,
    "drivers": drivers,
    "error-tree": error_tree,
    "failure-kinds": failure_kinds,
    "fault-answers": fault_answers,
    "faults": faults,
    "hooks": hooks,
    "kit-names": kit_names,
    "oddities": oddities,
    "outcomes": outcomes,
    "policies": policies,
    "problem-kinds": problem_kinds,
    "public-names": public_names,
    "reading": reading,
    "run-settings": run_settings,
    "settings": settings,
    "vendor-drivers": vendor_drivers,
}


def _words(title: str, words: Mapping[Any, str]) -> str:
    return _table((title, "meaning"), [(f"`{word}`", _escaped(meaning)) for word, meaning in words.items()])


def _vendor(name: str, driver: type[contracts.Vendor]) -> tuple[str, ...]:
    endpoint = f"`{driver.base_url}`" if driver.base_url else "give its `url`"
    key = f"`{driver.key_variable}`" if driver.key_variable else ""
    return f"`{name}`", endpoint, key, ", ".join(f"`{model}`" for model in driver.models)


def _about(name: str, about: About) -> tuple[str, ...]:
    settings = ", ".join(f"`{key}` ({_default_of(default)})" for key, default in about.settings.items())
    return f"`{name}`", _escaped(about.text), settings


def _default_of(value: Any) -> str:
    return f"`{json.dumps(value)}`"


def _theme(theme: ModuleType) -> str:
    title = (inspect.getdoc(theme) or "").rstrip(".")
    rows = [
        (f"`{check.name}`", check.level, *map(_escaped, (check.summary, check.reason, check.hint)))
        for check in theme.CHECKS
    ]
    return f"### {title}\n\n" + _table(("check", "level", "what is checked", "why", "hint"), rows)


def _of_kit(item: Any, name: str) -> str:
    """What a name of the kit is; constants have no docstring that could be asked for."""
    constants = {
        "CHECKS": "every check, in the order in which they are run",
        "LEVELS": "the levels of checks, the strictest first",
        "Level": "the type of a check's level",
    }
    return constants.get(name) or _first(item)


def _command(path: str, command: click.Command) -> str:
    usage = " ".join(
        f"{parameter.human_readable_name.upper()}" for parameter in command.params if _is_argument(parameter)
    )
    lines = [f"## bench {path}", "", f"    bench {path} [OPTIONS] {usage}".rstrip(), "", _markdown(command.help or "")]
    if isinstance(command, CompareCommand):
        sections = command.sections(click.Context(command))
        tables = [line for title, options in sections for line in (f"{title}:", "", _option_table(options), "")]
    else:
        tables = [_option_table(_options(command)), ""]
    return "\n".join([*lines, "", *tables, _examples(command)])


def _option_table(options: Iterable[click.Option]) -> str:
    rows = [
        (_names(option), _value(option), _default(option), _escaped(DEFAULT.sub("", option.help or "")))
        for option in options
        if "--help" not in option.opts
    ]
    return _table(("option", "value", "default", "meaning"), rows)


def _examples(command: click.Command) -> str:
    found = re.findall(r"bench .+", command.epilog or "")
    return "\n".join(["```console", *(f"$ {line.strip()}" for line in found), "```"])


def _options(command: click.Command) -> list[click.Option]:
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def _is_argument(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Argument)


def _names(option: click.Option) -> str:
    return ", ".join(f"`{name}`" for name in option.opts)


def _long_names(option: click.Option) -> list[str]:
    return [name[2:] for name in option.opts if name.startswith("--")]


def _keys_in_file(name: str, paths: list[str]) -> str:
    # A command of a group (`bench data list`) has no table in the file.
    return ", ".join(f"`[{path}] {name}`" for path in paths if " " not in path)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    return f"`{(option.metavar or option.type.name.split()[0].upper()).replace('|', chr(92) + '|')}`"


def _default(option: click.Option) -> str:
    if said := DEFAULT.search(option.help or ""):
        return said[1]
    if option.is_flag or not option.show_default:
        return ""
    default = option.default
    return f"`{' '.join(map(str, default)) if isinstance(default, tuple) else default}`"


def _contract(item: type) -> str:
    lines = [f"### {item.__name__}", "", _docstring(item), ""]
    for name, member in vars(item).items():
        if not inspect.isfunction(inspect.unwrap(getattr(member, "__func__", member))) or name.startswith("_"):
            continue
        function = getattr(member, "__func__", member)
        must = " (must be implemented)" if getattr(member, "__isabstractmethod__", False) else ""
        lines += [f"**`{name}{_signature(function)}`**{must}", "", _docstring(function), ""]
    return "\n".join(lines).rstrip()


def _reading(item: type) -> str:
    """A class with its properties as a table, and its methods."""
    values = {name: member for name, member in vars(item).items() if isinstance(member, (property, cached_property))}
    rows = [(f"`{name}`", _first(member)) for name, member in values.items()]
    table = [_table(("property", "what it is"), rows), ""] if rows else []
    return "\n".join([_contract(item), "", *table]).rstrip()


def _manual(name: str, function: Callable[..., Any]) -> str:
    return f"### {name}\n\n```python\n{_header(name, function)}\n```\n\n{_docstring(function)}\n"


def _header(name: str, function: Callable[..., Any]) -> str:
    whole = f"{name}{_signature(function)}"
    if len(whole) <= 100:
        return whole
    inner, _, result = _signature(function)[1:].rpartition(")")
    return "\n".join([f"{name}(", *(f"    {part}," for part in _split(inner)), f"){result}"])


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _signature(function: Callable[..., Any]) -> str:
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


def _docstring(item: Any) -> str:
    return _markdown(inspect.getdoc(item) or "")


def _markdown(text: str) -> str:
    """A docstring in Google's form as Markdown."""
    text = re.sub(r"\.\. versionadded:: ([\d.]+)", r"*New in \1.*", inspect.cleandoc(text.replace("\b\n", "")))
    lines: list[str] = []
    inside = False
    for line in text.replace("``", "`").splitlines():
        if section := SECTION.match(line):
            lines += [f"*{section[1]}*", ""]
            inside = True
        elif inside and line.startswith("        "):
            lines.append(f"  {line.strip()}")
        elif inside and line.startswith("    "):
            lines.append("- " + NAMED.sub(r"`\1`: ", line.strip()))
        else:
            inside = inside and not line
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _first(item: Any) -> str:
    return _escaped((inspect.getdoc(item) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`"))


def _meaning(name: str) -> str:
    undocumented = {
        "AnswerStatus": "How a judge finds an answer: `Solved`, `Unsure` or `Unsolved`.",
        "FailureKind": "The [kinds of failures](errors.md#failures) of a trial or a score.",
        "Finish": "How an agent ended: `give_answer` or `give_up_and_restart`.",
        "Json": "A JSON value: None, bool, int, float, str, list or dict with str keys.",
        "RunStatus": "`running`, `interrupted` or `finished`.",
        "SYSTEM_PROMPT": "The system prompt of every trial.",
        "hookimpl": "Marks an implementation of a hook.",
    }
    return undocumented.get(name) or _first(getattr(trialbed, name))


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _keys(node: dict[str, Any], root: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    node = _resolved(node, root)
    for key, child in node.get("properties", {}).items():
        child = _resolved(child, root) | {k: v for k, v in child.items() if k != "$ref"}
        meaning = f": {child['description']}" if "description" in child else ""
        yield f"{'  ' * len(path)}- `{key}` ({_kind(child)}){meaning}"
        yield from _keys(child.get("items", child), root, (*path, key))


def _resolved(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = root
    if "$ref" not in node:
        return node
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _kind(node: dict[str, Any]) -> str:
    kind = (
        node.get("type")
        or (f"`{node['const']}`" if "const" in node else "")
        or ("one of " + ", ".join(map(str, node["enum"])) if "enum" in node else "any")
    )
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
