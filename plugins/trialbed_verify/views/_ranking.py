"""A ranking as tables of text and as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trialbed.texts import group_by_key
from trialbed.views import UNKNOWN, Table, number
from trialbed_verify.ranking import METRICS, Placing, Ranking, Standings

RANGE = "rank 95 %"
RANKS = ("rank", RANGE, "IRF")
"""The columns of a vendor's place."""

DIGITS = {"tps": 2, "ttft_ms": 1, "avg_token": 1}


def ranking_tables(ranking: Ranking, *, reasons: bool = True, verdicts: bool = True) -> list[Table]:
    """Return a table per model, and one of all if there are several; the first with ranks explains their score.

    Args:
        reasons: say why vendors are not ranked or placed last, which pages say already.
        verdicts: say why vendors differ from the baseline; tables of their comparisons say so already.
    """
    explained = next((model for model, found in ranking.models.items() if found.ranked), None)
    tables = [
        _table(model, found, ranking, explained=model == explained, reasons=reasons, verdicts=verdicts)
        for model, found in ranking.models.items()
    ]
    if len(tables) > 1:
        tables.append(_table("all models", ranking.overall, ranking, of_all=True))
    if ranking.notes:
        tables.append(Table("Note", notes=[f"{note}." for note in ranking.notes]))
    return tables


EXPLAINED = (
    "IRF, inverse rank fusion, orders the vendors: the sum of 1 / (rank + {k}) over the vendor's ranks in each metric; "
    "more is better."
)


UNSETTLED = "neither is ahead in 95 % of resamples; where they are equal, both have the better rank"

SEVERAL = {
    "its decisions are": "their decisions are",
    "of its answers": "of their answers",
    "it differs in": "they differ in",
}
"""Words about one vendor, and those about several."""


def rank_sentence(model: str, found: Standings) -> str:
    """Say who leads, whether that is shown, and who is placed last or not ranked, in one sentence."""
    said = []
    if found.ranked:
        first = found.ranked[0]
        leading = [row for row in found.ranked if row.rank == first.rank] if first.tie else [first]
        leads = " and ".join(_name(row, of_all=False) for row in leading)
        behind = [row for row in found.ranked if row not in leading and row.name in (first.tied_with or ())]
        tied = " and ".join(_name(row, of_all=False) for row in behind)
        if first.tie:
            ahead = f", and are not shown to be ahead of {tied}" if tied else ""
            said.append(f"{leads} share the first rank, as their scores are equal{ahead}")
        else:
            said.append(f"{leads} leads, but is not shown to be ahead of {tied}" if tied else f"{leads} ranks first")
    return f"{model}: {'; '.join([*said, *_unranked(found, of_all=False)])}."


def _unranked(found: Standings, *, of_all: bool) -> Iterator[str]:
    for rows, words in ((found.behind, "placed last"), (found.not_ranked, "not ranked")):
        why = [(_name(row, of_all=of_all), "; ".join(row.reasons)) for row in rows]
        yield from (f"{names} {verb} {words}: {reason}" for names, verb, reason in _by_text(why))


def ranking_records(ranking: Ranking) -> list[dict[str, Any]]:
    """Return one record per model and vendor, with the places in its model and among all."""
    overall = {row.name: row for row in ranking.overall.rows}
    return [_record(row, overall[row.name]) for found in ranking.models.values() for row in found.rows]


def _table(
    title: str,
    found: Standings,
    ranking: Ranking,
    *,
    explained: bool = False,
    of_all: bool = False,
    reasons: bool = False,
    verdicts: bool = False,
) -> Table:
    metrics, intervals = ranking.metrics, ranking.resamples is not None
    columns = ["vendor", *(name for name in RANKS if intervals or name != RANGE)]
    columns += [METRICS[metric].label for metric in metrics]
    rows = [_cells(row, metrics, intervals=intervals, of_all=of_all) for row in found.rows]
    count = "six metrics" if len(metrics) == len(METRICS) else f"{len(metrics)} of six metrics"
    heading = f"{title}: ranked over {count}" if found.ranked else f"{title}: no vendor is ranked"
    notes = list(_notes(found, metrics, of_all=of_all, reasons=reasons, verdicts=verdicts))
    if explained:
        notes.insert(0, EXPLAINED.format(k=ranking.k))
    legend = [f"{METRICS[metric].label}: {METRICS[metric].meaning}." for metric in metrics]
    return _without_empty(Table.of(heading, columns, rows, notes, legend))


def _without_empty(table: Table) -> Table:
    """Return a table without the columns of ranks of which no vendor has any."""
    return table.without(
        *(
            name
            for name, *cells in zip(table.columns, *table.lines, strict=True)
            if name in RANKS and set(cells) == {UNKNOWN}
        )
    )


def _cells(row: Placing, metrics: Sequence[str], *, intervals: bool, of_all: bool) -> list[str]:
    # Behind the name of a vendor that is shown to differ from the baseline, whatever its rank.
    mark = " (different)" if row.is_different else ""
    cells = [_starred_name(row, of_all=of_all) + mark, _place(row)]
    if intervals:
        cells.append(UNKNOWN if row.rank_low is None else f"{row.rank_low}-{row.rank_high}")
    cells.append(UNKNOWN if row.score is None else number(float(row.score)))
    return cells + [number(row.vendor.metrics[name].value, DIGITS.get(name, 4)) for name in metrics]


def _place(row: Placing) -> str:
    if row.rank is None:
        return UNKNOWN
    return f"{row.rank}{' tie' * bool(row.tie)}{' last' * (row.status == 'behind')}"


def _name(row: Placing, *, of_all: bool) -> str:
    model, vendor = row.name
    return f"{vendor} ({model})" if of_all else vendor


def _starred_name(row: Placing, *, of_all: bool) -> str:
    return _name(row, of_all=of_all) + "*" * row.vendor.is_baseline


def _notes(found: Standings, metrics: Sequence[str], *, of_all: bool, reasons: bool, verdicts: bool) -> Iterator[str]:
    yield from _ties(found.ranked, of_all=of_all)
    yield from _shared_ranks(found.ranked, metrics, of_all=of_all)
    if reasons:
        yield from (f"{text}." for text in _unranked(found, of_all=of_all))
    if verdicts:
        panels = [
            (_name(row, of_all=of_all), row.vendor.panel.reason)
            for row in found.rows
            if row.vendor.panel and row.is_different
        ]
        for names, verb, reason in _by_text(panels):
            yield f"{names} {verb} not the baseline's equal{'s' * (verb == 'are')}: {reason}."
    starred = [(_starred_name(row, of_all=of_all), note) for row in found.rows for note in row.vendor.notes]
    yield from (f"{names}: {note}." for names, _, note in _by_text(starred))


def _by_text(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield each text once: the names that it is true of, the verb for as many, and the text."""
    for text, names in group_by_key((text, name) for name, text in found).items():
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        yield (listed, "is", text) if len(names) == 1 else (listed, "are", _of_several(text))


def _of_several(text: str) -> str:
    """Return a text about one vendor as one about several."""
    for one, several in SEVERAL.items():
        text = text.replace(one, several)
    return text


def _ties(ranked: Sequence[Placing], *, of_all: bool) -> Iterator[str]:
    """Yield a note for vendors with equal scores, or whose order the data do not settle."""
    for place, row in enumerate(ranked, 1):
        others = [_name(other, of_all=of_all) for other in ranked[place:] if other.name in (row.tied_with or ())]
        if others:
            yield f"{_name(row, of_all=of_all)} ties with {', '.join(others)}: {UNSETTLED}."


def _shared_ranks(ranked: Sequence[Placing], metrics: Sequence[str], *, of_all: bool) -> Iterator[str]:
    """Yield a note for vendors that are equal in a metric, with the rank that they share there."""
    for metric in metrics:
        sharing = group_by_key((float(row.ranks[metric]), _name(row, of_all=of_all)) for row in ranked)
        for rank, names in sorted(sharing.items()):
            if len(names) > 1:
                yield f"Equal in {METRICS[metric].label}, rank {rank:g} each: {', '.join(names)}."


def _record(row: Placing, overall: Placing) -> dict[str, Any]:
    return {
        "model": row.vendor.model,
        "vendor": row.vendor.vendor,
        "status": row.status,
        "rank": row.rank,
        "tie": row.tie,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "irf": row.irf,
        "global_rank": overall.rank,
        "global_irf": overall.irf,
        **{name: row.vendor.metrics[name].value for name in METRICS},
        "reasons": "; ".join(row.reasons),
        "panel": row.vendor.panel.finding if row.vendor.panel else None,
    }
