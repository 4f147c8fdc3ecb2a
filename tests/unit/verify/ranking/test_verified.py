from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from support.vendor_rows import own_file, own_row, write_rows

from trialbed.views import Table
from trialbed_verify.pages import vendor_page
from trialbed_verify.ranking import Gates, compare_and_rank, rank
from trialbed_verify.rows import FileRows
from trialbed_verify.summary import as_document
from trialbed_verify.table import read_one
from trialbed_verify.tables import verified_tables

Verified = tuple[str, str, FileRows, bool]
"""Model, vendor, rows, and whether it is the baseline."""

CASES = 180
DIE = random.Random(7)
DECIDED = ["tool_calls" if DIE.random() < 0.5 else "stop" for _ in range(CASES)]


def verified(folder: Path, vendor: str, ends: Any = None, *, baseline: bool = False, **changes: Any) -> Verified:
    given = DECIDED if ends is None else ends
    path = (
        own_file(folder / f"{vendor}.jsonl", given, **changes) if given else write_rows(folder / f"{vendor}.jsonl", [])
    )
    return "m", vendor, FileRows(path), baseline


def official(folder: Path, ends: Any = None) -> Verified:
    return verified(folder, "official", ends or [(end, end) for end in DECIDED], baseline=True)


def compared(files: list[Verified]) -> dict[str, Any]:
    sources = {(model, vendor): rows for model, vendor, rows, _ in files}
    return compare_and_rank(sources, {model: vendor for model, vendor, _, is_baseline in files if is_baseline})


def comparisons(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for model in found["models"] for one in model["comparisons"]]


def texts(document: Any) -> str:
    return "\n".join(note for table in verified_tables(document) for note in (table.title, *table.notes))


def test_vendors_stand_beside_their_baseline_and_are_ranked(tmp_path: Path) -> None:
    turned = ["stop" if end == "tool_calls" else "tool_calls" for end in DECIDED]
    found = compared([verified(tmp_path, "good"), official(tmp_path), verified(tmp_path, "turned", turned)])
    (model,) = found["models"]
    assert (model["model"], model["baseline"], model["notes"]) == ("m", "official", [])
    verdicts = {one["vendor"]["vendor"]: one["panel"].finding for one in model["comparisons"]}
    assert verdicts == {"good": "inconclusive", "turned": "different"}
    (ranking,) = found["ranking"].models.values()
    assert {row.vendor for row in ranking.ranked} == {"good", "official"}
    assert [row.vendor for row in ranking.behind] == ["turned"]
    first = verified_tables(found)[0]
    assert first.title == "m compared with official"
    assert [line[:2] for line in first.lines] == [("turned", "different"), ("good", "not decided by one trial")]
    (damage, cause), (_, nothing) = (line[2:4] for line in first.lines)
    assert damage.endswith("]")
    assert "decision" in cause
    assert nothing == "nothing shown"
    json.dumps(as_document(found), allow_nan=False)


def test_prices_stand_beside_the_ranks_and_in_the_verdict(tmp_path: Path) -> None:
    tokens = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
    files = [
        verified(tmp_path, name, response={"usage": tokens}, baseline=name == "official", **tokens)
        for name in ("official", "good", "unpriced")
    ]
    for name, output in (("official", 20.0), ("good", 8.0)):
        about = {"configuration_digest": name, "prices": {"input": 0.0, "output": output}}
        (tmp_path / f"{name}_summary.json").write_text(json.dumps({"provenance": about}), encoding="utf-8")
    found = compared(files)
    cost = {row.vendor: row.cost for row in found["ranking"].models["m"].rows}
    assert cost == {"official": 1.0, "good": 0.4, "unpriced": None}
    assert "it uses the same tokens within" in comparisons(found)[0]["panel"].reason
    assert "at your prices an answer is 60 % cheaper" in comparisons(found)[0]["panel"].reason
    lines = {name.rstrip("*"): cost for name, *_, cost in verified_tables(found)[1].lines}
    assert lines == {"official": "1.0000", "good": "0.4000", "unpriced": "-"}
    page = vendor_page([read_one(rows, compared=False) for _, _, rows, _ in files], found)
    verdicts = next(part for part in page if isinstance(part, Table) and part.title == "m compared with official")
    place = list(verdicts.columns).index("price of an answer")
    assert [(line[0], line[place]) for line in verdicts.lines] == [("good", "-60 %"), ("unpriced", "-")]
    lead = page[0]
    assert isinstance(lead, Table)
    assert "at your prices an answer is 60 % cheaper" in lead.notes[0]


def test_neither_speed_nor_price_makes_up_for_answers_that_break_callers(tmp_path: Path) -> None:
    shaken = ["stop" if number % 5 == 0 else end for number, end in enumerate(DECIDED)]
    quick = {"ttft_ms": 1.0, "tps": 999.0, "total_tokens": 10}
    files = [official(tmp_path), verified(tmp_path, "good"), verified(tmp_path, "quick", shaken, **quick)]
    ranking = compared(files)["ranking"]
    (found,) = ranking.models.values()
    assert {row.vendor for row in found.ranked} == {"good", "official"}
    (last,) = found.behind
    assert (last.vendor, last.rank, last.score) == ("quick", 3, None)
    assert last.reasons[0].startswith("it differs in what callers rely on (answers that break a caller, whether")
    by_figures = rank(list(found.rows), Gates(rank_different=True))
    assert by_figures.models["m"].ranked[0].vendor == "quick"


def test_without_a_baseline_it_says_so(tmp_path: Path) -> None:
    found = compared([verified(tmp_path, "a"), verified(tmp_path, "b")])
    assert (found["ranking"], comparisons(found)) == (None, [])
    assert "m: not compared\nno vendor is marked as the baseline" in texts(found)


def test_a_vendor_of_other_requests_is_left_out(tmp_path: Path) -> None:
    rows = [own_row(number, "stop", vendor="other", case=f"{number:064d}x", config="x") for number in range(1, 9)]
    other = ("m", "other", FileRows(write_rows(tmp_path / "other.jsonl", rows)), False)
    found = compared([official(tmp_path), other, verified(tmp_path, "good")])
    assert [one["vendor"]["vendor"] for one in comparisons(found)] == ["good"]
    assert "other is left out: the files have no request in common" in texts(found)
