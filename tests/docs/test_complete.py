"""What a user can rely on is documented, and what is documented is there."""

from __future__ import annotations

import asyncio
import configparser
import re
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import pytest
from support.cases import for_each

import trialbed
from trialbed import Answer, Query, ScoreContext, WireLog, errors, hookspecs
from trialbed.cli import cli
from trialbed.drivers import GROUPS, list_drivers, load_driver
from trialbed.plugins import empty_manager
from trialbed.records import FailureKind, Timing
from trialbed_adapter_lab import CHECKS, LEVELS, CheckFinding
from trialbed_scripted import POLICIES

BADGE = re.compile(r"· must \d+/\d+ .* may \d+/").search
CHECK_LEVELS = {check.name: check.level for check in CHECKS}
ROOT = Path(__file__).parents[2]
ROOTS = ("core", "server", "tool_selection", "plugins")


Page = Callable[[str], str]


@pytest.fixture
def page(docs: Path) -> Page:
    return lambda name: (docs / f"{name}.md").read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """The part of a page below a heading, up to the next one of its level."""
    level = re.search(rf"^(#+) {re.escape(title)}$", text, re.MULTILINE)
    assert level is not None, title
    rest = text[level.end() :]
    return re.split(rf"^#{{1,{len(level[1])}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str) -> list[str]:
    """The first cell of each row of the tables in a text, without code marks."""
    rows = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("| ---")]
    return [row.split("|")[1].strip().replace("`", "") for row in rows]


def setup_cfg() -> configparser.ConfigParser:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    return setup


def test_every_hook_has_a_heading(page: Page) -> None:
    hooks = {name for name in vars(empty_manager().hook) if not name.startswith("_")}
    assert hooks
    assert set(re.findall(r"^### (\w+)$", section(page("reference/python-api"), "Hooks"), re.MULTILINE)) == hooks
    assert all(hasattr(hookspecs, name) for name in hooks)


def test_the_overview_of_commands_has_all_of_them(page: Page) -> None:
    overview = page("reference/commands").partition("## Shared options")[0]
    named = [name.removeprefix("bench ") for name in first_cells(overview)[1:]]
    of_others = [driver.name for driver in list_drivers("commands") if driver.distribution != "trialbed"]
    assert sorted([*named, *of_others]) == cli.list_commands(click.Context(cli))


def test_every_command_and_option_is_described(page: Page) -> None:
    text = page("reference/commands")
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        inner = command.commands if isinstance(command, click.Group) else {"": command}
        for child, found in inner.items():
            part = section(text, f"bench {name} {child}".strip())
            assert found is not None
            for option in found.params:
                shown = option.opts if isinstance(option, click.Option) else [option.metavar or str(option.name)]
                for spelling in shown:
                    assert spelling.lower() in part.lower(), f"bench {name} {child}: {spelling}"


def test_an_option_that_commands_share_is_described_once(page: Page) -> None:
    text = page("reference/commands")
    shared = section(text, "Shared options")
    described = re.findall(r"^- `(?:-\w`, `)?(--[\w-]+)", shared, re.MULTILINE)
    assert "--json" in described
    assert text.count(next(line for line in shared.splitlines() if line.startswith("- `--json`"))) == 1


def test_the_default_of_an_option_with_several_values_is_shown_as_it_is_given(page: Page) -> None:
    text = page("reference/commands")
    assert "- `--judge NAME|MODEL|FILE.py:NAME`: Judge that grades the answers [`rule`]." in text
    assert "[`[" not in text


def test_every_variable_of_the_sources_is_described(page: Page) -> None:
    sources = [file.read_text(encoding="utf-8") for root in ROOTS for file in (ROOT / root).rglob("*.py")]
    variables = set(re.findall(r"\bTRIALBED_[A-Z_]*[A-Z]\b", "\n".join(sources)))
    assert {"TRIALBED_STATE_DIR", "TRIALBED_SERVER_TOKEN"} <= variables
    described = set(re.findall(r"`(TRIALBED_[A-Z_0-9]+)`", page("reference/configuration")))
    assert variables - described == set()


def test_every_option_that_can_be_set_is_described_with_its_variable(page: Page) -> None:
    part = section(page("reference/configuration"), "Every option, its variable and its key")
    described = dict(re.findall(r"`(--[\w-]+)`(?: \(`([A-Z_]+)`\))?", part))
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        for option in command.params if command else []:
            if isinstance(option, click.Option) and option.envvar:
                for spelling in (one for one in option.opts if one.startswith("--")):
                    usual = f"TRIALBED_{spelling[2:].upper().replace('-', '_')}"
                    assert (described[spelling] or usual) == option.envvar


def test_the_exit_codes_are_those_there_are(page: Page) -> None:
    raised = {getattr(errors, name).exit_code for name in errors.__all__}
    codes = section(page("reference/errors"), "Exit codes")
    assert {int(cell) for cell in first_cells(codes)[1:]} == {0, 1, 128 + signal.SIGINT} | raised


def test_every_entry_point_group_is_described(page: Page) -> None:
    text = page("reference/python-api")
    described = first_cells(section(text, "Drivers"))[1:]
    assert set(described) == set(GROUPS.values())
    assert "`trialbed.plugins`" in text
    declared = set(setup_cfg()["options.entry_points"]) - {"console_scripts", "pytest11"}
    assert declared <= {*described, "trialbed.plugins"}


def test_every_dependency_has_its_reason(page: Page) -> None:
    setup = setup_cfg()
    required = {re.split(r"[\[<>=]", line)[0] for line in setup["options"]["install_requires"].split()}
    text = page("reference/dependencies")
    assert set(first_cells(text.split("## Libraries that are not used")[0])[1:]) == required
    assert set(first_cells(section(text, "Extras"))[1:]) == set(setup["options.extras_require"])


def test_no_requirement_is_without_use() -> None:
    """Each dependency is imported somewhere, or run."""
    sources = "\n".join(file.read_text(encoding="utf-8") for root in ROOTS for file in (ROOT / root).rglob("*.py"))
    modules = {
        "httptools": "uvicorn.protocols.http.httptools_impl",
        "lazy-loader": "lazy_loader",
        "prometheus-client": "prometheus_client",
        "pystemmer": "Stemmer",
        "python-dotenv": "dotenv",
        "pyyaml": "yaml",
    }
    for line in setup_cfg()["options"]["install_requires"].split():
        name = re.split(r"[\[<>=]", line)[0]
        assert re.search(rf"(from|import) {modules.get(name, name.replace('-', '_'))}\b", sources), name


def test_no_text_credits_what_controlled_does_to_an_engine() -> None:
    folders = ("docs", "adapters", "benchmarks", *ROOTS)
    files = [
        ROOT / "README.md",
        *(path for name in folders for kind in ("md", "py") for path in (ROOT / name).rglob(f"*.{kind}")),
    ]
    credit = re.compile(
        r"engine\s+alone|engine itself do|(but|except) (its|the) engine|engines under equal", re.IGNORECASE
    )
    assert [str(path) for path in files if credit.search(path.read_text(encoding="utf-8"))] == []


async def score_names() -> set[str]:
    context = ScoreContext(
        query=Query(query_id=1, text="?", apis=()),
        tools=(),
        answer=Answer(final_answer="!", finish="give_answer"),
        wire=WireLog(trial="token-token", opened_at=datetime.now(UTC)),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        judge=load_driver("judges", "rule")(),
        judge_name="rule",
    )
    return {score.name for score in await import_module("trialbed_plugins.scorers").score_trial(context)}


def test_every_score_is_described(page: Page) -> None:
    text = page("reference/scores")
    missing = {name for name in asyncio.run(score_names()) if f"`{name}`" not in text}
    assert missing == set()


def test_every_policy_is_described_with_its_right_values(page: Page) -> None:
    text = page("reference/scripted-models")
    played = {cell.removeprefix("scripted:") for cell in first_cells(text.split("## How a policy works")[0])[1:]}
    assert played == set(POLICIES)
    cells = first_cells(section(text, "Right values"))[1:]
    assert {name.strip() for cell in cells for name in cell.split(",")} == set(POLICIES)


def test_every_conformance_check_is_described(page: Page) -> None:
    text = page("results/probes")
    described = {
        name: section(text, "Checks").count(f"</a>`{name}` | {level} |") for name, level in CHECK_LEVELS.items()
    }
    assert set(described.values()) == {1}, [name for name, times in described.items() if times != 1]
    assert set(first_cells(section(text, "Levels"))[1:]) == set(LEVELS)
    outcomes = get_args(CheckFinding.model_fields["outcome"].annotation)
    assert set(first_cells(section(text, "Outcomes"))[1:]) == set(outcomes)


@for_each(
    "module",
    ["trialbed.wire", "trialbed.metrics", "trialbed.conversations", "trialbed_scripted", "trialbed_adapter_lab"],
)
def test_every_name_of_a_public_module_is_described(module: str, page: Page) -> None:
    part = section(page("reference/python-api"), module)
    assert set(import_module(module).__all__) <= set(re.findall(r"^- `(\w+)`: \S", part, re.MULTILINE))


def test_every_name_of_trialbed_is_described(page: Page) -> None:
    text = page("reference/python-api")
    described = re.findall(r"^(?:### |- `|\| `)(\w+)", text, re.MULTILINE)
    assert set(trialbed.__all__) - {*described, "aevaluate", "arun_benchmark"} == set()


def test_every_kind_of_failure_is_described(page: Page) -> None:
    assert set(first_cells(section(page("reference/errors"), "Failures"))[1:]) == set(get_args(FailureKind))


def test_every_error_is_described(page: Page) -> None:
    assert set(first_cells(section(page("reference/python-api"), "Errors"))[1:]) == set(errors.__all__)


def test_every_number_of_policies_in_words_is_right() -> None:
    assert len(POLICIES) == 13
    for name in ("README.md", "CHANGELOG.md"):
        assert "Thirteen" in (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{setup_cfg()['metadata']['version']}] - " in text


def test_the_totals_of_every_summary_of_the_conformance_kit_are_right(docs: Path) -> None:
    shown = [line for file in docs.rglob("*.md") for line in file.read_text().splitlines() if BADGE(line)]
    assert shown
    right = {tuple(str(count) for count in totals.values()) for totals in map(levels_of, ("controlled", "native"))}
    wrong = [line for line in shown if tuple(re.findall(r"(?:must|should|may) \d+/(\d+)", line)) not in right]
    assert wrong == []


def levels_of(profile: str) -> dict[str, int]:
    """The number of checks of each level for a profile."""
    return {level: sum(check.level_for(profile) == level for check in CHECKS) for level in LEVELS}
