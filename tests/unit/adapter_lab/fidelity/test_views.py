from __future__ import annotations

import io
import re

import pytest
from support.fidelity import CONDITIONS

from trialbed import HardSchema, hard_schemas, views
from trialbed.views import Table
from trialbed_adapter_lab.fidelity import (
    Behaviour,
    ErrorFinding,
    FidelityReport,
    FrameworkFidelity,
    Missing,
    Parallel,
    PolicyRequests,
    Prompt,
    Requests,
    SchemaFinding,
    SentSetting,
    Settings,
    StepLimit,
    TimeLimit,
    ToolSchemas,
    TurnSize,
)
from trialbed_adapter_lab.fidelity.views import page_parts, report_tables

DASH = "-"


def requests(policy: str, **fields: int) -> PolicyRequests:
    found = Requests(**{"expected": 4, "seen": 4, "repeated": 0, "aside": 0, **fields})
    return PolicyRequests(policy=policy, requests=found, calls_sent=3, calls_made=3)


def as_given(schema: HardSchema) -> SchemaFinding:
    return SchemaFinding(name=schema.name, stresses=schema.stresses, sent_name=schema.name)


def whole(name: str = "reference") -> FrameworkFidelity:
    """A framework of which all is known."""
    size = TurnSize(request_bytes=90, message_bytes=44, tool_bytes=2, prompt_tokens=12, added_bytes=0, added_tokens=0)
    seed = SentSetting(name="seed", asked=1, sent=(1,), absent=0, honoured=True)
    return FrameworkFidelity(
        framework=name,
        version="1.2",
        adapter="trialbed-x 0.1.0",
        python="3.11.7",
        schemas=ToolSchemas(findings=tuple(map(as_given, hard_schemas())), order="kept", trials=1),
        prompt=Prompt(tools=20, requests=1, turns=(size,), first=(), last=()),
        behaviour=Behaviour(
            turns=(requests("gold"), requests("none", expected=1, seen=1)),
            refusals=(requests("429", expected=1, seen=1),),
            parallel=Parallel(asked=4, made=4, at_once=4, seconds=0.3, longest=0.25),
            settings=Settings(requests=1, settings=(seed,), others={"model": ("scripted:gold",)}),
            step_limit=StepLimit(limit=5, requests=5),
            time_limit=TimeLimit(limit=1.5, seconds=1.7, killed=True),
        ),
    )


def report(*frameworks: FrameworkFidelity, **conditions: object) -> FidelityReport:
    return FidelityReport(conditions=CONDITIONS.model_copy(update=conditions), frameworks=frameworks)


def markdown(shown: FidelityReport) -> str:
    return views.markdown(report_tables(shown))


def table(shown: FidelityReport, monkeypatch: pytest.MonkeyPatch, width: int = 120) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.StringIO()
    views.print_tables(report_tables(shown, whole=False), stream)
    return stream.getvalue()


def cells(text: str, label: str) -> list[str]:
    """The cells of the first row of this label, in Markdown."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_what_was_not_observed_is_a_dash_in_every_row() -> None:
    gone = FrameworkFidelity(framework="gone", missing=(Missing(part="", reason="no such module"),))
    text = markdown(report(whole(), gone)).split("## Notes")[0]
    rows = re.findall(r"^\| (?!---)([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) > 40
    told = {label: cell for label, _, cell in rows if cell not in (DASH, "gone")}
    assert told == {"could not be measured": "everything"}


def test_only_the_parts_asked_for_are_shown() -> None:
    text = markdown(report(whole(), parts=("prompt",)))
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "What is added to the prompt of the model",
        "Measured",
        "Prompt, with 20 tools",
        "Notes",
    ]


def test_each_changed_schema_has_its_row() -> None:
    changed = as_given(hard_schemas()[0]).model_copy(update={"effects": ("renamed",)})
    schemas = ToolSchemas(findings=(changed, as_given(hard_schemas()[1])), order="kept", trials=1)
    text = markdown(report(whole(), whole("other").model_copy(update={"schemas": schemas})))
    assert f"| {hard_schemas()[0].stresses} | as given | renamed |" in text
    assert hard_schemas()[1].stresses not in text


def test_reasons_and_declarations_stand_below() -> None:
    shown = whole("x").model_copy(
        update={"declared": ("sorts tools",), "missing": (Missing(part="prompt", reason="it\nbroke"),)}
    )
    text = markdown(report(whole(), shown))
    assert "* x: its adapter declares: sorts tools" in text
    assert "* x: prompt could not be measured: it broke" in text


def test_markdown_cannot_be_broken_by_what_a_framework_says() -> None:
    evil = FrameworkFidelity(framework="x", missing=(Missing(part="", reason="| a | `b` <c> [d](e)\x1b[31m"),))
    text = markdown(report(whole(), evil))
    assert "\\| a \\| \\`b\\` &lt;c> [d\\](e)?[31m" in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_table_is_as_wide_as_the_terminal_and_has_the_reference_in_every_block(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["reference", "one", "two", "three", "four", "five"]
    text = table(report(*map(whole, names)), monkeypatch, width)
    heads = [line.split()[1:] for line in text.splitlines() if line.startswith("Measured  ")]
    assert [name for head in heads for name in head[1:]] == names[1:]
    assert {head[0] for head in heads} == {"reference"}
    assert max(map(len, text.splitlines())) <= max(80, width)


def test_the_table_says_how_calls_of_one_turn_were_made() -> None:
    def made(**fields: int) -> FrameworkFidelity:
        found = whole("x")
        assert found.behaviour is not None
        parallel = found.behaviour.parallel.model_copy(update=fields)
        return found.model_copy(update={"behaviour": found.behaviour.model_copy(update={"parallel": parallel})})

    for fields, words in [
        ({}, "4 of 4"),
        ({"at_once": 1}, "1 of 4"),
        ({"made": 1, "at_once": 1}, "1 of 4, 1 made"),
    ]:
        behaviour = page_parts(report(made(**fields)))[3]
        assert isinstance(behaviour, Table)
        assert behaviour.rows[0].cells[-1] == words


def test_calls_are_counted_against_those_that_can_be_told() -> None:
    made = as_given(hard_schemas()[0]).model_copy(update={"call": "as sent"})
    found = ToolSchemas(findings=(made,), order="kept", trials=1)
    text = markdown(report(whole().model_copy(update={"schemas": found})))
    assert cells(text, "reference")[-1] == "1 of 1"
    assert cells(text, "calls not made") == ["none"]


def profiles(*names: str) -> FidelityReport:
    return report(*map(whole, names))


def test_profiles_stand_below_each_other_in_the_summary_and_have_their_own_tables() -> None:
    text = markdown(profiles("reference", "a:native", "a:controlled", "b:native", "b:controlled"))
    head, first, second = re.split(r"^## Measured, ", text, flags=re.MULTILINE)
    rows = re.findall(r"^\| ((?:reference|[ab]:)\S*) \|", head, re.MULTILINE)
    assert rows == ["reference", "a:native", "b:native", "a:controlled", "b:controlled"] * 3
    assert "| reference | a:native | b:native |" in first
    assert "| reference | a:controlled | b:controlled |" in second
    assert "a:controlled" not in first.split("## Notes")[0].split("## Measured")[0]


def test_one_profile_needs_no_tables_of_its_own() -> None:
    assert "## Measured\n" in markdown(profiles("reference", "a:native", "b:native"))


def test_the_summary_tells_what_a_framework_does() -> None:
    shown = whole("x")
    assert shown.schemas is not None
    assert shown.prompt is not None
    renamed, lost, impossible = (
        schema.model_copy(update=update)
        for schema, update in zip(
            shown.schemas.findings,
            (
                {"effects": ("renamed",), "call": "as sent"},
                {"effects": ("missing",), "sent_name": None},
                {"effects": ("lost",), "call": "impossible", "call_reason": "closed"},
            ),
            strict=False,
        )
    )
    size = shown.prompt.turns[0].model_copy(update={"added_bytes": 30, "added_tokens": 4})
    schemas = ToolSchemas(findings=(renamed, lost, impossible), order="kept", trials=1, others=("think",))
    prompt = shown.prompt.model_copy(update={"turns": (size,)})
    parts = page_parts(report(whole(), shown.model_copy(update={"schemas": schemas, "prompt": prompt})))
    row: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Table) and part.rows:
            row |= zip(part.columns[1:], part.rows[1].cells, strict=True)
    assert row["tools lost"] == row["tools renamed"] == row["tools added"] == row["schemas changed"] == "1"
    assert row["calls as sent"] == "1 of 2"
    assert row["bytes"] == "90 (+30, +50 %)"
    assert row["tokens"] == "12 (+4, +50 %)"
    assert row["requests after 429"] == "1"
    assert row["requests after 500"] == DASH


def erring(case: str, **fields: object) -> ErrorFinding:
    return ErrorFinding.model_validate({"case": case, "seen": "answer", "requests": 1, "calls": 0, **fields})


def test_the_table_of_errors_says_what_the_user_sees() -> None:
    found = (
        erring("one", text="fine"),
        erring("two", seen="exception", exception="openai.RateLimitError", text="RateLimitError: slow", requests=9),
        erring("three", seen="error text", text="over | done", requests=30, refused=1, told="no such tool"),
    )
    gone = FrameworkFidelity(framework="gone", missing=(Missing(part="errors", reason="broke"),))
    text = markdown(report(whole().model_copy(update={"errors": found}), gone))
    assert cells(text, "one") == ["answer (1)", DASH]
    assert cells(text, "two") == ["openai.RateLimitError (9)", DASH]
    assert cells(text, "three") == ["error text as answer (30 + 1 refused)", DASH]
    assert "| three | no such tool |" in text
    assert "| two | reference | RateLimitError: slow |" in text
    assert "| fine |" not in text


def test_a_report_can_be_cut_down_to_some_parts() -> None:
    missing = (Missing(part="behaviour", reason="crashed"), Missing(part="errors", reason="broke"))
    shown = whole().model_copy(update={"missing": missing})
    cut = report(shown).of_parts(("errors", "prompt"))
    assert cut.conditions.parts == ("prompt", "errors")
    (found,) = cut.frameworks
    assert found.prompt is not None
    assert found.schemas is found.behaviour is None
    assert [one.part for one in found.missing] == ["errors"]


def lead(found: FidelityReport) -> list[str]:
    """The sentences that a page begins with, before the machine."""
    first = page_parts(found)[0]
    assert isinstance(first, Table)
    assert not first.title
    return list(first.notes[:-1])


def test_a_page_begins_with_its_conclusions_and_the_machine() -> None:
    lost = SchemaFinding(name="a", stresses="", effects=("missing",), call="not made")
    changed = SchemaFinding(name="b", stresses="", effects=("changed",), call="as sent")
    schemas = ToolSchemas(findings=(lost, changed), order="kept", trials=1)
    worse = whole("a:native").model_copy(update={"schemas": schemas})
    found = report(whole("reference"), worse, whole("a:controlled"), whole("b:native"), whole("b:controlled"))
    assert lead(found) == [
        "native: tools and calls are unchanged with 1 of 2 frameworks (b).",
        "controlled: tools and calls are unchanged with 2 of 2 frameworks (a, b).",
    ]
    assert "4 cores" in page_parts(found)[0].notes[-1]


def test_a_page_has_a_table_for_each_part_in_which_most_frameworks_of_a_profile_share_a_row() -> None:
    lost = SchemaFinding(name="a", stresses="", effects=("missing",), call="not made")
    names = [f"{name}:{profile}" for profile in ("native", "controlled") for name in "abcd"]
    worse = whole("a:native").model_copy(update={"schemas": ToolSchemas(findings=(lost,), order="kept", trials=1)})
    found = report(whole("reference"), worse, *map(whole, names[1:]))
    tables = [part for part in page_parts(found) if isinstance(part, Table) and part.rows]
    assert [table.title for table in tables] == [
        "Tools as they are offered, and their calls",
        "What is added to the prompt of the model",
        "Requests after an error, and turns",
    ]
    labels = [[row.label for row in table.rows] for table in tables]
    assert labels[0] == ["reference", "a:native", "the other 3, native", "all 4, controlled"]
    assert labels[1] == ["reference", "all 4, native", "all 4, controlled"]
    few = report(whole("reference"), whole("a:native"), whole("b:native"))
    assert [row.label for row in page_parts(few)[1].rows] == ["reference", "a:native", "b:native"]


def test_markdown_begins_with_the_conclusions_too() -> None:
    found = report(whole("reference"), whole("a:native"))
    assert markdown(found).startswith(f"* {lead(found)[0]}\n")


def test_the_conclusion_on_one_framework_names_it() -> None:
    assert lead(report(whole("reference"), whole("a:native"))) == [
        "tools and calls are unchanged with 1 of 1 framework (a:native)."
    ]


@pytest.mark.parametrize(
    ("tokens", "added", "shown"),
    [
        (5, 0, "5 (+0)"),
        (12, 4, "12 (+4, +50 %)"),
        (12, -4, "12 (-4, -25 %)"),
        (100, 100, "100 (+100)"),
        (1001, 1, "1,001 (+1, <1 %)"),
    ],
)
def test_a_share_that_would_be_rounded_to_none_says_so(tokens: int, added: int, shown: str) -> None:
    found = whole()
    assert found.prompt is not None
    turn = found.prompt.turns[0].model_copy(update={"prompt_tokens": tokens, "added_tokens": added})
    prompt = found.prompt.model_copy(update={"turns": (turn,)})
    found = found.model_copy(update={"prompt": prompt})
    tables = {table.title: table for table in report_tables(report(found))}
    assert tables["What is added to the prompt of the model"].rows[0].cells[1] == shown
