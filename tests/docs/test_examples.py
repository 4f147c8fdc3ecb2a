"""Examples in the documentation are what they say: commands parse, code runs, requests are answered."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import httpx
import pytest
from support.bench import bench_in
from support.warm import run_warm, warm_bench, warm_command
from support.workflows import scripts, workflow

from trialbed.cli import cli, main
from trialbed_adapter_lab.plugin_check import CheckedPlugin, check_plugin

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PLUGINS = DOCS / "how-to" / "write-a-plugin.md"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
COMMAND = re.compile(r"(?:^|[\s;&])(?:[A-Z_]+=\S+ )?bench ((?:[^`#|>&;]|\\\n)+)")
AGENT = """\
from trialbed import BaseAgent


class Agent(BaseAgent):
    contract = "3"

    def answer(self, query):
        return "words"


def agent(query):
    return query
"""
EXECUTOR = """\
from trialbed_plugins.executors.local import LocalExecutor


class Mine(LocalExecutor):
    option_names = {"partition": "where jobs run"}
"""
PLUGIN = re.compile(
    r"^(?:@(hookimpl)|def (\w+)\(request\b.*|"
    r"class (\w+)\((?:DatasetDriver|Executor|Judge|ModelDriver|Simulator|ToolSelector)\):)$",
    re.MULTILINE,
)
"""What `bench plugin check` takes in a file: hooks, a model as a function, or a class."""
OF_PLUGINS = {"acme-hello"}
"""Commands that the how-to guide adds."""


def blocks(page: Path, language: str) -> list[str]:
    """The examples of a page in a language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)


def shown_file(page: Path, name: str) -> str:
    """The example of a page that begins with the name of its file."""
    (found,) = [block for block in blocks(page, "python") if block.startswith(f"# {name}\n")]
    return found


def commands(pages: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for page in pages:
        shown = [block for language in ("console", "yaml") for block in blocks(page, language)]
        whole = [block.replace(" \\\n", " ") for block in shown]
        lines = [line for block in whole for line in block.splitlines() if not line.startswith("run ")]
        for line in lines:
            yield from ((page.name, found.strip()) for found in COMMAND.findall(line))


COMMANDS = sorted(set(commands(PAGES)))


def parse(group: click.Group, arguments: list[str]) -> None:
    """Parse a command line as click would, without running it."""
    name, *rest = arguments
    if name in OF_PLUGINS:
        return
    command = group.get_command(click.Context(group), name)
    assert command is not None, f"there is no command {name!r}"
    if isinstance(command, click.Group) and not (command.invoke_without_command and (not rest or rest[0][0] == "-")):
        parse(command, rest)
    else:
        command.make_context(name, rest)


def test_the_commands_were_found() -> None:
    assert len(COMMANDS) > 40
    assert ("README.md", "run --framework reference --framework langgraph") in COMMANDS


def test_commands_parse(subtests: pytest.Subtests, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from parts import PAGES as WRITTEN

    monkeypatch.chdir(tmp_path)
    for folder in ("StableToolBench", "tool_response_cache", "MASBench", "tau2-bench"):
        (tmp_path / folder).mkdir()
    (tmp_path / "FOLDER").mkdir()
    for file in (
        "crewai.lock",
        "samples.jsonl",
        "config.yaml",
        "fidelity.json",
        "monday.jsonl",
        "tuesday.jsonl",
        "official.jsonl",
    ):
        (tmp_path / file).touch()
    use_plugin_files(tmp_path, monkeypatch)
    for page, command in sorted({*COMMANDS, *commands(docs / name for name in WRITTEN)}):
        with subtests.test(command, page=page):
            parse(cli, shlex.split(command))


def use_plugin_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the plugins that commands name: those of the pages on them, and those that these do not show."""
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(folder / "state"))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])
    files = {block.split()[1]: block for block in blocks(PLUGINS, "python") if re.match(r"# \w+\.py\n", block)}
    files["judge.py"] += "\n\nclass Mine(Short):\n    pass\n"
    files["agent.py"] = AGENT
    files["executor.py"] = EXECUTOR
    for name, text in files.items():
        (folder / name).write_text(text)


def test_plugin_check_accepts_every_plugin_of_the_guides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_plugin_files(tmp_path, monkeypatch)
    (tmp_path / "submitit.py").touch()
    shutil.copytree(ROOT / "examples" / "executors", tmp_path, dirs_exist_ok=True)
    executors = {"kubernetes.py": "KubernetesExecutor", "slurm.py": "SlurmExecutor"}
    checked: list[CheckedPlugin] = [check_plugin(f"{tmp_path / file}:{name}") for file, name in executors.items()]
    for page in sorted((DOCS / "how-to").glob("*.md")):
        for number, block in enumerate(blocks(page, "python")):
            if found := PLUGIN.search(block):
                file = tmp_path / f"{page.stem}_{number}.py"
                # What is run below a model, and the data of a dataset, are not the plugin's.
                file.write_text(f"QUERIES, APIS = (), ()\n{block.partition(chr(10) + 'print(')[0]}")
                checked.append(check_plugin(f"{file}:{found[2] or found[3]}" if not found[1] else str(file)))
    assert [one.problem for one in checked if one.problem] == []
    kinds = ["datasets", "executors", "executors", "judges", "models", "plugins", "plugins", "selectors"]
    assert sorted(one.kind for one in checked) == kinds


def test_python_examples_compile(docs: Path) -> None:
    pages = [*PAGES, docs / "reference" / "python-api.md"]
    found = [(page, block) for page in pages for block in blocks(page, "python")]
    assert len(found) > 50
    for page, block in found:
        if not re.match(r"\w+\(\n|\w+\(.*\) -> ", block):  # the signatures in the reference
            compile(block, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # as in a notebook


@pytest.mark.parametrize("language", ["json", "toml"])
def test_data_examples_are_well_formed(language: str) -> None:
    import tomllib

    found = [block for page in PAGES for block in blocks(page, language)]
    assert found
    for block in found:
        json.loads(block) if language == "json" else tomllib.loads(block)


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIALBED_")}
    return {**kept, "XDG_CACHE_HOME": str(folder / ".cache"), "NO_COLOR": "1"}


def python(folder: Path, *arguments: str, **variables: str) -> str:
    own = environment(folder) | variables
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(folder: Path, module: str, *arguments: str) -> str:
    """The output of a program of this folder, which starts without the wait for its imports."""
    done = run_warm(module, arguments, cwd=folder, env=environment(folder), timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bench(folder: Path, *arguments: str) -> str:
    return bench_in(folder, environment(folder))(*arguments).out


def programs(page: Path) -> list[str]:
    """The examples of a page that evaluate agents, without those that need a key."""
    found = [
        block
        for block in blocks(page, "python")
        if re.search(r"^from trialbed import .*evaluate\b", block, re.MULTILINE)
    ]
    return [block for block in found if "https://" not in block]


@pytest.mark.slow(25)
def test_the_programs_of_the_guides_run(tmp_path: Path) -> None:
    """Each as it stands, in a process of its own; what needs ``await`` as a notebook runs it."""
    guides = [DOCS / "how-to" / f"{name}.md" for name in ("evaluate-in-python", "benchmark-your-own-agent")]
    found = [program for page in (ROOT / "README.md", *guides) for program in programs(page)]
    assert len(found) == 6
    (tmp_path / "cell.py").write_text(CELL)
    for text in found:
        (tmp_path / "example.py").write_text(text)
        printed = program(tmp_path, "cell", "example.py") if "await " in text else program(tmp_path, "example")
        assert re.search(r"^\S+ +\d+ % \[|^scripted:wrong-args +0\.00 of 20 trials$", printed, re.MULTILINE), printed


CELL = """
import ast, asyncio, inspect, sys

code = compile(open(sys.argv[1]).read(), "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
cell = {}
asyncio.run(eval(code, cell))
assert "<table" in cell["report"]._repr_html_()
print(cell["report"])
"""
"""Runs a file as a cell of a notebook, and shows what it ends with."""


def test_the_original_form_of_the_guide_runs(tmp_path: Path) -> None:
    code = blocks(DOCS / "how-to" / "benchmark-your-own-agent.md", "python")[-1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    asked = 'agent_name="my_agent"'
    assert asked in code
    (tmp_path / "example.py").write_text(code.replace(asked, f'{asked}, server_url="http://127.0.0.1:{port}/virtual"'))
    program(tmp_path, "example")
    document = json.loads((tmp_path / "results" / "tools" / "my_agent_mini.json").read_text())
    assert document["summary"]["total_queries"] == 5
    assert document["summary"]["error_count"] == 0
    assert document["summary"]["average_has_finish"] == 1.0


@pytest.mark.slow
def test_the_scripted_models_of_the_guide_answer(tmp_path: Path) -> None:
    *examples, conftest = blocks(DOCS / "how-to" / "test-with-faults.md", "python")
    (tmp_path / "conftest.py").write_text(conftest)
    examples.append("def test_fixture(scripted):\n    assert scripted('done').url")
    for number, code in enumerate(examples):
        (tmp_path / f"test_{number}.py").write_text(code)
    plugins = ("-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider")
    python(tmp_path, "-m", "pytest", "-q", *plugins, str(tmp_path), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_the_dataset_of_the_guide_runs_and_is_solved(tmp_path: Path) -> None:
    (tmp_path / "parcels.json").write_text(blocks(DOCS / "how-to" / "write-tasks.md", "json")[0])
    printed = bench(tmp_path, "run", "--dataset", "parcels.json", "--json")
    (document,) = json.loads(printed)
    assert document["metadata"]["test_set"] == "parcels"
    assert document["summary"]["average_sopr_score"] == 1.0


def write_files(folder: Path, *guides: str) -> str:
    """Write the files that guides show under their titles; return the text of the guides."""
    text = "\n".join((DOCS / "how-to" / f"{guide}.md").read_text(encoding="utf-8") for guide in guides)
    for title, content in re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
        (folder / title).write_text(content, encoding="utf-8")
    return text


@pytest.mark.parametrize(
    ("guides", "files"),
    [
        (("choose-a-framework",), ("desk.py",)),
        (("write-tasks", "conversations"), ("desk.py", "desk.yaml", "named.yaml", "conversation.yaml", "refund.yaml")),
    ],
)
def test_the_tasks_of_the_guides_have_no_findings(
    guides: tuple[str, ...], files: tuple[str, ...], tmp_path: Path
) -> None:
    write_files(tmp_path, *guides)
    for file in files:
        assert re.fullmatch(rf"{file}: \d tasks?, no findings\n", bench(tmp_path, "tasks", "check", file))


def test_the_tools_of_the_guide_are_imported_and_its_tasks_solved(tmp_path: Path) -> None:
    page = write_files(tmp_path, "bring-tools")
    shop = bench(tmp_path, "tools", "import", "shop-api.yaml", "-o", "shop.yaml")
    bench(tmp_path, "tools", "import", "definitions.json", "-o", "desk-tools.yaml")
    checked = bench(tmp_path, "tasks", "check", "tasks.yaml")
    assert shop.splitlines()[0] in page
    assert checked.strip() in page


def install(folder: Path, module: str, group: str, entry: str, source: str) -> None:
    """Make an installed distribution of an example, for subprocesses with this folder on their path."""
    metadata = folder / "site" / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    (folder / "site" / f"{module}.py").write_text(source)


def test_the_scorer_of_the_guide_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'acme = "acme_scores"' in blocks(PLUGINS, "toml")[0]
    assert 'acme-hello = "acme_hello:command"' in blocks(PLUGINS, "toml")[-1]
    scorer, hello = shown_file(PLUGINS, "src/acme_scores.py"), shown_file(PLUGINS, "src/acme_hello.py")
    install(tmp_path, "acme_scores", "trialbed.plugins", "acme = acme_scores", scorer)
    install(tmp_path, "acme_hello", "trialbed.commands", "acme-hello = acme_hello:command", hello)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    (document,) = json.loads(bench(tmp_path, "run", "--limit", "2", "--json"))
    summary = document["summary"]
    assert summary["average_acme_begins_right"] == 1.0
    assert summary["acme_api_calls"] > 0
    assert bench(tmp_path, "acme-hello") == "Hello from Acme\n"


def test_the_selector_of_the_guide_selects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'shortest = "acme_selector:ShortestFirst"' in blocks(PLUGINS, "toml")[1]
    install(
        tmp_path,
        "acme_selector",
        "trialbed.selectors",
        "shortest = acme_selector:ShortestFirst",
        shown_file(PLUGINS, "src/acme_selector.py"),
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    command = ("run", "--selector", "shortest", "--max-tools", "20", "--limit", "2", "--json")
    (document,) = json.loads(bench(tmp_path, *command))
    assert document["metadata"]["selector"] == "shortest"
    assert [result["selected_tools_count"] for result in document["results"]] == [20, 20]


def test_the_requests_of_the_guides_are_answered(tmp_path: Path) -> None:
    (curl,) = (block for block in blocks(DOCS / "how-to" / "run-at-scale.md", "console") if "$ curl" in block)
    requests = [json.loads(curl.split("-d '")[1].rsplit("'", 1)[0])]
    requests.append(json.loads(blocks(DOCS / "reference" / "protocols.md", "json")[0]))
    command = warm_command([sys.executable, "-m", "trialbed", "serve", "--port", "0"])
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            for request in requests:
                answer = httpx.post(f"{url}/virtual", json=request).json()
                assert answer["error"] == ""
                assert answer["response"]
        finally:
            server.terminate()
    assert server.returncode == 0


@pytest.mark.slow
def test_the_tutorial_can_be_followed(tmp_path: Path) -> None:
    """Each command of the tutorial, in order, with two queries in place of twenty; the first prints the table shown."""
    page = DOCS / "how-to" / "first-comparison.md"
    text = "\n".join(blocks(page, "console"))
    printed = [
        bench(tmp_path, *shlex.split(command.replace("--limit 20", "--limit 2")))
        for command in re.findall(r"^\$ bench (.+)$", text, re.MULTILINE)
        if "scripted:slow" not in command  # which the reader interrupts
    ]
    assert len(printed) >= 4
    table = next(shown for one in printed if (shown := headings(one)))
    assert table == headings(blocks(page, "text")[0])
    assert {"solved", "verdict", "reference", "langgraph:native"} <= {*table}
    assert "What went wrong" in printed[-1]


def headings(text: str) -> list[str]:
    """The headings of the columns and rows of a printed screen's table; empty without one."""
    found = re.search(r"^mini  .*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return []
    head, *rows = found[0].splitlines()
    return [*re.split(r"\s{2,}", head), *(row.split("  ")[0] for row in rows)]


def test_the_settings_of_the_guide_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.toml").write_text(blocks(DOCS / "reference" / "configuration.md", "toml")[0])
    assert main(["data", "list"]) == 0


@pytest.mark.parametrize(
    ("guide", "more", "job_more"),
    [("use-in-ci.md", (), ()), ("isolated-environments.md", ("permissions",), ("strategy", "env"))],
)
def test_the_workflow_of_a_guide_has_the_form_of_one(
    guide: str, more: tuple[str, ...], job_more: tuple[str, ...]
) -> None:
    found = workflow(guide)
    assert found.keys() == {"name", "on", "jobs", *more}
    (job,) = found["jobs"].values()
    assert job.keys() == {"runs-on", "steps", *job_more}
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert step.keys() <= {"name", "uses", "with", "run", "if"}
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))


@pytest.mark.slow
def test_the_workflow_of_the_guide_runs(tmp_path: Path) -> None:
    """Its commands, with the reference loop, two queries and two of its models."""
    script = (
        "\n".join(scripts("use-in-ci.md"))
        .replace("-f acme", "-f reference --limit 2")
        .replace(" parallel bad-json", "")
    )
    summary = tmp_path / "summary.md"
    path = os.pathsep.join((warm_bench(tmp_path / "bin"), os.environ["PATH"]))
    own = {"GITHUB_STEP_SUMMARY": str(summary), "PATH": path}
    command = ["bash", "-e", "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path) | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    title, said = summary.read_text().splitlines()[:3:2]
    assert title == "## reference with scripted:retry on 2 tasks (mini)"
    assert re.fullmatch(r"reference solves .* of 2 tasks\.", said)
    assert '<testsuites name="bench run" tests="2" failures="0"' in (tmp_path / "junit.xml").read_text()
