"""Verifications in the store: listed, shown, compared, ranked, exported and followed like runs, by their ids."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.bench import Finished
from support.verification import written_set

from trialbed_scripted import serve

pytestmark = pytest.mark.slow

Run = Callable[..., Awaitable[Finished]]

CASES = 30
SCRIPTS = {"official": "none", "careless": '{"mix": {"none": 4, "bad_arguments": 1, "cut_stream": 1}, "seed": 3}'}


@pytest.fixture
async def printed(bench: Run, tmp_path: Path) -> str:
    """What ``bench verify`` prints of two vendors, which are in the store then."""
    file = written_set(tmp_path / "set.jsonl", CASES, stream=True)
    async with AsyncExitStack() as stack:
        lines = ["kimi-k2:", "  vendors:"]
        for name, script in SCRIPTS.items():
            server = await stack.enter_async_context(serve(faults=script))
            baseline = str(name == "official").lower()
            lines.append(f"    - {{name: {name}, url: '{server.url}', is_baseline: {baseline}}}")
        (tmp_path / "config.yaml").write_text("\n".join(lines) + "\n")
        (tmp_path / ".env").write_text("official=k\ncareless=k\n")
        arguments = ("verify", file, "--config", tmp_path / "config.yaml", "--trials", 2, "--tag", "nightly")
        return (await bench(*arguments, "--note", "before the update")).out


async def test_it_is_listed_and_shown_as_it_was_printed(printed: str, bench: Run) -> None:
    row = (await bench("runs", "--json")).document
    assert (row["status"], row["trials"], row["tags"], row["frameworks"]) == (
        "finished",
        4 * CASES,
        ["nightly"],
        list(SCRIPTS),
    )
    assert "[nightly] before the update" in (await bench("runs", "--tag", "nightly", "--model", "kimi-k2")).out
    shown = (await bench("show", "latest")).out
    assert shown.endswith(printed)
    assert "note  before the update" in shown
    document = (await bench("show", "latest", "--json")).document
    assert [summary["vendor"] for summary in document["summaries"]] == list(SCRIPTS)
    assert len(document["models"][0]["comparisons"]) == 1


async def test_a_case_is_shown_as_the_wire_saw_it(printed: str, bench: Run) -> None:
    lines = (await bench("export", "latest/careless", "--format", "results")).out.splitlines()
    place = next(place for place, line in enumerate(lines) if '"cut_stream"' in line)
    shown = (await bench("show", "latest", f"careless/{place // 2 + 1}/{place % 2}")).out
    assert "failed (model)" in shown
    assert "outcome: protocol_error" in shown
    assert "cut_stream (" in shown


async def test_its_results_are_exported_to_the_byte(printed: str, bench: Run, tmp_path: Path) -> None:
    for vendor in SCRIPTS:
        written = (tmp_path / "data" / f"kimi-k2_{vendor}_results.jsonl").read_bytes()
        await bench("export", f"latest/{vendor}", "--format", "results", "--output", "again.jsonl")
        assert (tmp_path / "again.jsonl").read_bytes() == written
    assert "has no vendor acme" in (await bench("export", "latest/acme", "--format", "results", code=2)).err


async def test_it_is_compared_and_ranked_by_its_id_without_its_files(printed: str, bench: Run, tmp_path: Path) -> None:
    official, careless = (tmp_path / "data" / f"kimi-k2_{name}_results.jsonl" for name in SCRIPTS)
    of_files = (await bench("compare", official, careless, "--json")).document
    ranked = (await bench("rank", official, careless)).out
    assert (await bench("rank", official.parent)).out == ranked
    for pair in (("latest/official", official), (official, "latest/official")):
        assert "is not compared with itself" in (await bench("compare", *pair, code=2)).err
    official.unlink()
    careless.write_text("no results\n")
    whole = (await bench("compare", "latest", "--json")).document
    parts = (await bench("compare", "latest/official", "latest/careless", "--json")).document
    for document in (whole, parts):
        assert document["panel"]["finding"] == of_files["panel"]["finding"] == "different"
        assert document["similarity"] == of_files["similarity"]
        assert document["baseline"]["file"].endswith("/official")
        examples = [gate["example"] for gate in document["panel"]["gates"] if gate["example"]]
        assert {example["vendor_row"]["line"] for example in examples} == {example["line"] for example in examples}
    assert (await bench("rank", "latest")).out == ranked
    page = (await bench("compare", "latest", "--format", "html")).out
    assert "<title>careless compared with official" in page
    assert "Examples of what differs at careless" in page


async def test_it_is_published_with_its_page(printed: str, bench: Run, tmp_path: Path) -> None:
    assert "written: out" in (await bench("publish", "latest", "-o", "out")).out
    (page,) = (tmp_path / "out" / "runs").iterdir()
    shown = await bench("show", "latest", "--format", "html")
    # Their titles differ, and the published page names no folder.
    published, printed_page = (text.partition("</h1>")[2].strip() for text in (page.read_text("utf-8"), shown.out))
    assert published == printed_page.replace(f"{tmp_path}/", "…/")
    assert f"runs/{page.name}" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
