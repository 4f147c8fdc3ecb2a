"""The folder of published results: written whole, checked by digests."""

from __future__ import annotations

import json
import lzma
import re
import shlex
import subprocess
import tracemalloc
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from unit.pages.publishing.test_page import run

from trialbed.errors import DataError, UsageError
from trialbed_pages.publishing._folder import made_files, read_numbers, write_publication
from trialbed_pages.publishing._manifest import PublicationManifest, RunSource, check_unchanged, read_manifest

EVIDENCE = {"recordings/first.cassette": b"answers", "datasets/harbour.py": b"tasks = []"}
HOSTILE = "<script>alert(1)</script>![x](http://evil)"


def manifest(**more: object) -> PublicationManifest:
    source = RunSource(
        name="first",
        began="2026-11-26 16:00 UTC",
        trialbed="0.1.0",
        model="local:small",
        identity="gguf 1234",
        dataset="datasets/harbour.py",
        recording="recordings/first.cassette",
        answers=3,
        arguments=("--framework", "reference"),
        environments={},
    )
    return PublicationManifest(runs=(source,), **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    write_publication(place, manifest(), [run()], EVIDENCE)
    return place


def test_pages_and_figures_follow_from_the_numbers_and_the_manifest(folder: Path) -> None:
    there = read_manifest(folder)
    check_unchanged(folder, there)
    evidence = there.model_copy(update={"files": there.kept, "made": ()})
    made = made_files(evidence, read_numbers(folder, there))
    assert {name: (folder / name).read_bytes() for name in there.made} == made
    assert set(there.kept) == {*EVIDENCE}


def test_words_are_explained_once_for_all_runs_of_a_page_and_results_are_told_of_each() -> None:
    other = run("second").model_copy(update={"model": "local:large"})
    two = PublicationManifest(
        runs=tuple(manifest().runs[0].model_copy(update={"name": name}) for name in ("first", "second"))
    )
    text = made_files(two, [run(), other])["results.md"].decode()
    for once in (
        "native: as its",
        "An expected call is one",
        "A trial that failed is not solved.",
        "changed: tasks on",
    ):
        assert text.count(once) == 1, once
    for twice in (
        "crewai:native is shown to solve fewer tasks than reference.",
        "reference does it.",
        "crewai:native does it.",
    ):
        assert text.count(twice) == 2, twice


def test_the_commands_of_a_folder_are_folded_as_a_shell_reads_them_and_say_what_cannot_be_made_again() -> None:
    faults = '{"tools": {"rate": 0.5}, "seed": 1, "model": {"rate": 0.25, "faults": ["empty"]}} --x'
    arguments = ("--framework", "mine", "--faults", faults, "--judge", "rule", "--seed", "0")
    source = manifest().runs[0].model_copy(update={"arguments": arguments, "cannot": "it used programs"})
    shown = manifest().model_copy(update={"runs": (source,)})
    text = made_files(shown, [run()])["results.md"].decode().partition("```console\n")[2].partition("\n```")[0]
    reason, _, command = text.partition("\n$ ")
    assert reason == "# first cannot be made again from these files alone: it used programs"
    assert "\\\n" in command
    whole = ["bench", "run", "--dataset", source.dataset, "--model", source.model, *arguments]
    assert shlex.split(command.replace("\\\n", "")) == whole


def test_what_a_task_is_called_ends_no_block_and_stays_what_it_is() -> None:
    arguments = ("--query-id", "a'\n```\n<img src=x onerror=alert(1)>\x1b[2J")
    source = manifest().runs[0].model_copy(update={"arguments": arguments, "cannot": "it\n```\nbroke"})
    text = made_files(manifest().model_copy(update={"runs": (source,)}), [run()])["results.md"].decode()
    block = text.partition("```console\n")[2]
    assert block.count("\n```\n") == 1
    assert block.rstrip().endswith("```")
    assert "\x1b" not in text
    said = subprocess.run(
        [
            "bash",
            "-c",
            f"printf %s {block.partition('--query-id ')[2].removesuffix('```').strip().removesuffix('```')}",
        ],
        capture_output=True,
        check=True,
    )
    assert said.stdout.decode() == arguments[1]


def test_a_changed_or_missing_file_is_refused_by_its_name_and_the_folder_is_not_replaced(folder: Path) -> None:
    (folder / "numbers.json").write_text("other\n")
    (folder / "recordings/first.cassette").unlink()
    with pytest.raises(DataError, match=r"numbers.json was changed; recordings/first.cassette is missing"):
        check_unchanged(folder, read_manifest(folder))
    with pytest.raises(DataError, match="has changed since it was published"):
        write_publication(folder, manifest(), [run()], {})
    assert (folder / "numbers.json").read_text() == "other\n"


def test_a_new_publication_replaces_the_earlier_one_though_its_pages_are_missing_and_leaves_other_files(
    folder: Path,
) -> None:
    there = read_manifest(folder)
    for name in {*there.made} - {"numbers.json"}:
        (folder / name).unlink()
    (folder / "notes.txt").write_text("mine")
    check_unchanged(folder, there)
    write_publication(folder, manifest(), [run("second")], {"recordings/second.cassette": b"others"})
    assert sorted(path.name for path in (folder / "recordings").iterdir()) == ["second.cassette"]
    assert (folder / "index.html").is_file()
    assert (folder / "notes.txt").read_text() == "mine"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_files_of_another_origin_and_folders_that_are_links_are_left_alone(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "docs"
    mine.mkdir()
    (mine / "index.html").write_text("mine")
    with pytest.raises(UsageError, match=r"index.html already exists and is not part of published"):
        write_publication(mine, manifest(), [run()], EVIDENCE)
    assert [(path.name, path.read_text()) for path in mine.iterdir()] == [("index.html", "mine")]

    (folder / "figures").rename(tmp_path / "elsewhere")
    (folder / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="is a link to a file outside of the folder"):
        write_publication(folder, manifest(), [run("second")], EVIDENCE)
    assert len([*(tmp_path / "elsewhere").iterdir()]) == 2
    (mine / "index.html").unlink()
    (tmp_path / "empty").mkdir()
    (mine / "figures").symlink_to(tmp_path / "empty")
    with pytest.raises(UsageError, match="is in a folder that is a link"):
        write_publication(mine, manifest(), [run()], EVIDENCE)


def test_a_publication_that_cannot_be_written_leaves_the_earlier_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="No space left"):
        write_publication(folder, manifest(), [run("second")], EVIDENCE)
    check_unchanged(folder, read_manifest(folder))


def test_the_value_of_a_key_is_not_published_and_searched_for_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-canary-1234")
    zeros = bytes(2**20 - 7)
    for name, content in (
        ("datasets/harbour.py", b"KEY = 'sk-canary-1234'"),
        ("recordings/first.cassette", lzma.compress(b'{"answer": "sk-canary-1234"}')),
        ("recordings/first.cassette", lzma.compress(zeros + b"sk-canary-1234" + zeros)),
    ):
        with pytest.raises(UsageError, match=f"{name} has the value of a variable that holds a key"):
            write_publication(tmp_path / "out", manifest(), [run()], {**EVIDENCE, name: content})
    assert not (tmp_path / "out").exists()
    bomb = lzma.compress(bytes(40 * 2**20))
    tracemalloc.start()
    write_publication(tmp_path / "out", manifest(), [run()], {**EVIDENCE, "recordings/first.cassette": bomb})
    assert tracemalloc.get_traced_memory()[1] < 30 * 2**20
    tracemalloc.stop()
    monkeypatch.setattr("trialbed_pages.publishing._folder.MOST", 35 * 2**20)
    with pytest.raises(UsageError, match=r"first\.cassette has more than 36,700,160 bytes when unpacked"):
        write_publication(tmp_path / "other", manifest(), [run()], {**EVIDENCE, "recordings/first.cassette": bomb})
    assert not (tmp_path / "other").exists()


def asked(**values: object) -> Callable[[dict[str, Any]], object]:
    """A change of the manifest of a folder, as somebody makes it who wants it to be replayed."""
    return lambda document: document["runs"][0].update(values)


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda document: document["files"].update({"x" * 5000: "0"}), r"x{60} cannot be read: File name too long"),
    (lambda document: document["files"].update({"a\0b": "0"}), "is missing"),
    (lambda document: document["files"].update({"numbers.json": ["0"]}), r"files\.numbers\.json: Input should be"),
    (lambda document: document["files"].update({"../secret": "0"}), r"'../secret' is not a file of the folder"),
    (lambda document: document.pop("runs"), "runs: Field required"),
    (asked(name="/tmp/elsewhere"), "is not the id of a run"),
    (asked(name=".."), "is not the id of a run"),
    (asked(recording="datasets/none"), "is not a file of the folder"),
    (asked(dataset="/etc/tasks.py"), "neither a dataset's name nor a file of the folder"),
    (asked(dataset="datasets/other.py"), "neither a dataset's name nor a file of the folder"),
    (asked(dataset="tasks:evil.py"), "neither a dataset's name nor a file of the folder"),
    (asked(arguments=["--framework"]), "an option has no value"),
    *(
        (asked(arguments=[option, "x"]), "is not an option of a replay")
        for option in (
            *("--output", "-o", "--store", "--executor", "--command", "--server-url", "--plugin", "--mcp"),
            *("--base-url", "--judge-model", "--selector-model", "--simulator-model", "--judge-prompts", "--model"),
            *("--dataset", "--api-key-env", "--completions"),
        )
    ),
    *(
        (asked(arguments=[option, value]), "is not what a replay may be asked for")
        for option, value in (
            *(("--framework", "evil.py:Agent"), ("--framework", "/tmp/evil.py:Agent"), ("--judge", "judge.py")),
            *(("--judge", "gpt@https://evil/v1"), ("--judge", "datasets/judge.py:Mine"), ("--faults", "/etc/passwd")),
            *(("--selector", "selector.py:Mine"), ("--catalog", "/home/me/notes"), ("--catalog", "tools.py")),
        )
    ),
]


def test_a_manifest_that_is_damaged_or_asks_for_more_than_a_replay_is_refused(folder: Path) -> None:
    path = folder / "published.json"
    before = path.read_text()
    for change, message in DAMAGES:
        document = json.loads(before)
        change(document)
        path.write_text(json.dumps(document))
        with pytest.raises(DataError, match=message):
            check_unchanged(folder, read_manifest(folder))
    for content, message in (
        (b"{\xff}", r": is not UTF-8 text: .* at byte 1"),
        (b'{\n"runs": [}', r" .* at line 2 col"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"published\.json{message}"):
            read_manifest(folder)


def test_numbers_are_those_of_the_runs_of_the_manifest(folder: Path) -> None:
    """Files are named after runs."""
    there, path = read_manifest(folder), folder / "numbers.json"
    numbers = json.loads(path.read_text())
    for content in (
        json.dumps([numbers[0] | {"name": "../../first"}]),
        json.dumps(numbers * 2),
        '[{"name": 1}]',
        '{"name"',
    ):
        path.write_text(content)
        with pytest.raises(DataError, match=r"numbers.json (has the numbers of other runs|is not as)"):
            read_numbers(folder, there)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]
        assert tag not in ("script", "iframe", "form", "base", "link")


def test_the_page_needs_no_server_and_its_links_lead_to_files_of_the_folder(folder: Path) -> None:
    page, links = (folder / "index.html").read_text(), _Links()
    links.feed(page)
    outside = [link for link in links.found if not link.startswith("#")]
    assert outside
    assert [link for link in outside if not (folder / link).is_file()] == []
    assert "default-src 'none'" in page
    assert page.index("solve 25 %") < page.index("<h2>")
    text = (folder / "results.md").read_text()
    shown = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert [(folder / path).is_file() for path in shown] == [True, True]
    assert "In this folder, where Trialbed is installed. bench reproduce replays" in text


def test_words_of_others_stay_text(tmp_path: Path) -> None:
    hostile = run().model_copy(update={"model": HOSTILE})
    made = made_files(manifest(about=(HOSTILE,)), [hostile])
    assert b"<script>" not in made["index.html"]
    assert not re.search(rb"(?<!\\)<script|(?<!\\)\]\(http", made["results.md"])
