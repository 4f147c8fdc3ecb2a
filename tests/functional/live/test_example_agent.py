"""The example agent of the benchmark that came before runs with its import line and endpoint settings changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bench import bare_environment
from support.warm import run_warm

IMPORTS = ("openai", "os", "json", "requests")


@pytest.fixture
def example(stabletoolbench_dir: Path) -> str:
    """The example's source as it was published: from its first import to its call of ``run_benchmark``."""
    readme = stabletoolbench_dir.parent.parent / "facts" / "originals" / "masbench_tool_use_readme.txt"
    if not readme.is_file():
        pytest.skip(f"the published example is not at {readme}")
    source = re.search(
        r'^from openai import OpenAI$.*?agent_name="llm_agent"\n\)', readme.read_text(), re.MULTILINE | re.DOTALL
    )
    assert source is not None
    return "\n".join(indented(source[0].splitlines()))


def indented(lines: list[str]) -> Iterator[str]:
    """The lines with the indentation that the publication lost: one class, its methods, and a script after it."""
    starts = {"class ": 0, "def ": 1, "except": 2, "# Run benchmark": 0}
    level, depth, previous = 0, 0, ""
    for line in lines:
        if depth == 0:
            level = 2 if previous == "pass" else level
            level = next((found for start, found in starts.items() if line.startswith(start)), level)
        yield "    " * level + line
        depth += sum(line.count(bracket) for bracket in "([{") - sum(line.count(bracket) for bracket in ")]}")
        level += depth == 0 and line.endswith(":")
        previous = line


def test_it_runs_and_its_posts_are_counted(
    example: str, server_url: str, stabletoolbench_dir: Path, tmp_path: Path
) -> None:
    missing = [name for name in IMPORTS if not re.search(rf"^(import|from) {name}\b", example, re.MULTILINE)]
    imports = "".join(f"import {name}\n" for name in missing) + "from trialbed import run_benchmark\n"
    changed = example.replace("http://localhost:8080/virtual", f"{server_url}/virtual")
    changed = changed.replace('agent_name="llm_agent"', f'agent_name="llm_agent", server_url="{server_url}/virtual"')
    assert changed.count(server_url) == 2
    (tmp_path / "example.py").write_text(imports + changed)
    environment = bare_environment(
        tmp_path,
        PATH="",
        OPENAI_API_KEY="none",
        OPENAI_BASE_URL=f"{server_url}/v1",
        TRIALBED_DATA_DIR=str(tmp_path / "data"),
    )
    for module, *arguments in (("trialbed", "data", "import", str(stabletoolbench_dir)), ("example",)):
        done = run_warm(module, arguments, cwd=tmp_path, env=environment, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((tmp_path / "results" / "tools" / "llm_agent_G1_instruction.json").read_text())
    assert document["summary"]["total_queries"] == 5
    assert document["summary"]["error_count"] == 0
    for result in document["results"]:
        assert result["wire"]["observed"] == [["TheClique", "Transfermarkt search"]]
        assert result["called_apis"] == [["TheClique", "Transfermarkt search"]]
        assert result["scores"]["model_turns"] == 1
        assert result["scores"]["has_finish"] is True
        assert result["scores"]["claimed_vs_observed"] == 1.0
