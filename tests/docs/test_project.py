"""The files around the code name commands, versions and folders that exist."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.distributions import FRAMEWORKS

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
MAKE = re.compile(r"(?:`|^\$ |run: |&& )make ([a-z][a-z-]*)", re.MULTILINE)
PINNED = re.compile(r"^[\w-]+/[\w-]+@(release/)?v\d+$|^\./\.github/workflows/\w+\.yml$")


def read_yaml(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def read_ini(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / name, encoding="utf-8")
    return found


def targets() -> set[str]:
    (line,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return set(line.split())


def test_make_without_a_target_lists_every_target() -> None:
    done = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    shown = re.findall(r"^make ([a-z-]+) +\S", done.stdout, re.MULTILINE)
    assert sorted(shown) == sorted(targets())


def test_every_target_that_a_page_or_workflow_names_exists() -> None:
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*/*.md"), *GITHUB.rglob("*.*"), ROOT / ".pre-commit-config.yaml"]
    # The changelog also names targets of the past.
    texts = {file: file.read_text(encoding="utf-8") for file in files if file.name != "CHANGELOG.md"}
    named = {(file.name, name) for file, text in texts.items() for name in MAKE.findall(text)}
    assert {("CONTRIBUTING.md", "install"), ("release.yml", "release")} <= named
    assert {(file, name) for file, name in named if name not in targets()} == set()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_runs_what_exists_with_few_permissions(file: Path) -> None:
    workflow = read_yaml(file)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        steps = job.get("steps", [])
        assert all(map(PINNED.match, [step["uses"] for step in [*steps, job] if "uses" in step]))
        for command in (step["run"] for step in steps if "run" in step):
            for script in re.findall(r"\.ci/\w+", command):
                assert os.access(ROOT / script, os.X_OK), script
    called = re.findall(r"uses: \./(\S+)", file.read_text(encoding="utf-8"))
    assert [name for name in called if not (ROOT / name).is_file()] == []


def test_ci_runs_what_is_run_by_hand() -> None:
    (job,) = read_yaml(GITHUB / "workflows" / "ci.yml")["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]


def test_only_the_job_that_publishes_gets_a_token_of_the_index() -> None:
    jobs = read_yaml(GITHUB / "workflows" / "release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert jobs["publish"]["environment"] == "pypi"
    assert "ci" in jobs["build"]["needs"]


@pytest.mark.parametrize("form", FORMS, ids=lambda file: file.stem)
def test_a_form_asks_each_question_once(form: Path) -> None:
    found = read_yaml(form)
    assert {"name", "description", "body"} <= set(found)
    questions = [part for part in found["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions)
    assert all(part["attributes"]["label"] for part in questions)


def test_dependabot_looks_where_requirements_are() -> None:
    updates = read_yaml(GITHUB / "dependabot.yml")["updates"]
    patterns = [name.strip("/") for update in updates for name in update.get("directories", [])]
    found = {str(file.relative_to(ROOT)) for name in patterns for file in ROOT.glob(f"{name or '.'}/pyproject.toml")}
    released = [file for root in ("adapters", "compatibility") for file in (ROOT / root).glob("*/pyproject.toml")]
    assert found == {str(file.relative_to(ROOT)) for file in (ROOT / "pyproject.toml", *released)}


def test_hooks_and_make_use_one_release_of_ruff() -> None:
    (pinned,) = re.findall(r"^ruff==(\S+)$", read_ini("setup.cfg")["options.extras_require"]["dev"], re.MULTILINE)
    repositories = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert {repo["rev"] for repo in repositories if "ruff" in repo["repo"]} == {f"v{pinned}"}


def test_the_citation_is_of_this_version() -> None:
    citation, metadata = read_yaml(ROOT / "CITATION.cff"), read_ini("setup.cfg")["metadata"]
    assert (citation["version"], citation["license"]) == (metadata["version"], metadata["license"])
    heading = f"## [{citation['version']}] - {citation['date-released']}\n"
    assert heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    def notes(version: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / ".ci" / "notes.py"), version]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = notes(read_ini("setup.cfg")["metadata"]["version"])
    assert done.stdout.strip()
    assert "\n## " not in done.stdout
    missing = notes("99.0.0")
    assert missing.returncode == 1
    assert "has no section `## [99.0.0]" in missing.stderr


def test_tox_has_every_adapter() -> None:
    (listed,) = re.findall(r"\{([^}]*)\}-\{latest,oldest\}", " ".join(read_ini("tox.ini").sections()))
    assert sorted(listed.split(",")) == sorted(FRAMEWORKS)


def test_a_decision_is_short_and_says_why() -> None:
    assert len(DECISIONS) >= 10
    for file in DECISIONS:
        text = file.read_text(encoding="utf-8")
        assert len(text.split()) <= 150, file
        assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], file


def test_contributing_fits_on_one_screen() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 45
