"""The checks of a selector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import ToolSelector
from trialbed.errors import UsageError
from trialbed.records import Api, ApiRef, Query
from trialbed_adapter_lab.conformance import expect, may, must
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_kind
from trialbed_adapter_lab.plugin_kit._samples import STRANGE, model_that_says, sample_dataset, sample_queries

REPLY = "[1, 2]"
"""The reply of the model of a selector that needs one."""

MOST = (1, 3, 120)


async def _prepare(subject: PluginSubject, apis: Sequence[Api] | None = None) -> ToolSelector:
    selector = cast("ToolSelector", await subject.call("an instance", subject.thing))
    if subject.thing.needs_model:
        selector.model = model_that_says(lambda: REPLY)
    catalog = ApiCatalog(sample_dataset().apis() if apis is None else apis)
    try:
        await subject.call("prepare to learn the catalog", selector.prepare, catalog, allowed=(UsageError,))
    except UsageError as missing:
        raise NotTried(str(missing)) from missing
    return selector


async def _choose(subject: PluginSubject, selector: ToolSelector, query: Query, most: int) -> list[ApiRef]:
    what = f"select for query {query.query_id} with max_tools={most}"
    found = await subject.call(what, selector.select, query, max_tools=most)
    return list(found)


@must(reason="Other tools would be offered than --max-tools says.", hint="Cut the list at max_tools.")
async def no_more_than_asked_for(subject: PluginSubject) -> None:
    """It chooses at most as many Apis as it is asked for."""
    selector = await _prepare(subject)
    for query in sample_queries():
        for most in MOST:
            found = await _choose(subject, selector, query, most)
            expect(len(found) <= most, f"at most {most} for query {query.query_id}", len(found))


@must(
    reason="A tool can be offered only if it is documented.",
    hint="Return the ref of Apis that prepare was given, or of the query's.",
)
async def only_known_apis(subject: PluginSubject) -> None:
    """It chooses Apis of the catalog or of the query, each once, by their ApiRef."""
    selector = await _prepare(subject)
    catalog = {api.ref for api in sample_dataset().apis()}
    for query in sample_queries():
        found = await _choose(subject, selector, query, 120)
        for ref in found:
            expect_kind("each choice", ref, ApiRef)
        unknown = [ref.title for ref in found if ref not in catalog | {api.ref for api in query.apis}]
        expect(not unknown, "Apis of the catalog or of the query", unknown)
        expect(len(found) == len({*found}), f"each Api once for query {query.query_id}", [ref.title for ref in found])


@must(
    reason="A resumed run would offer other tools.",
    hint="Break ties by name; seed what is drawn; keep nothing between queries.",
)
async def equal_queries_get_equal_choices(subject: PluginSubject) -> None:
    """The choice for a query depends on it and the catalog alone, in the same order, in a new instance too."""
    selector, other = await _prepare(subject), await _prepare(subject)
    first = {query.query_id: await _choose(subject, selector, query, 5) for query in sample_queries()}
    for query in reversed(sample_queries()):
        for again in (selector, other):
            found = await _choose(subject, again, query, 5)
            wanted = [ref.title for ref in first[query.query_id]]
            expect(found == first[query.query_id], f"{show(wanted)} again", [ref.title for ref in found])


@must(reason="Datasets have such queries and catalogs.", hint="Return an empty list where there is nothing to choose.")
async def nothing_and_strange_texts_are_taken(subject: PluginSubject) -> None:
    """An empty catalog, an empty query, strange characters and a long text end in a choice too."""
    query = sample_queries()[0]
    selector = await _prepare(subject)
    for text in ("", STRANGE, "word " * 20_000, "?"):
        await _choose(subject, selector, query.model_copy(update={"text": text}), 5)
    empty = await _prepare(subject, [])
    await _choose(subject, empty, sample_queries()[-1], 5)


@must(reason="Others are given the same query.", hint="Copy what you change.")
async def queries_stay_as_they_are(subject: PluginSubject) -> None:
    """It changes nothing of the query."""
    selector = await _prepare(subject)
    for query in sample_queries():
        before = query.model_dump_json()
        await _choose(subject, selector, query, 5)
        expect(query.model_dump_json() == before, f"query {query.query_id} to stay as it was", "it was changed")


@may(
    reason="Its recall would say nothing about tasks whose expected calls are not known.",
    hint="Choose by the query's text.",
)
async def gold_is_not_read(subject: PluginSubject) -> None:
    """It chooses alike where the query's expected calls are not known."""
    selector = await _prepare(subject)
    for query in sample_queries():
        hidden = query.model_copy(update={"gold_calls": (), "reference_facts": (), "reference_answer": None})
        known, unknown = await _choose(subject, selector, query, 5), await _choose(subject, selector, hidden, 5)
        expect(
            known == unknown,
            f"{show([ref.title for ref in known])} without expected calls",
            [ref.title for ref in unknown],
        )


@may(reason="The choice of a smaller number is expected to be its best.", hint="Rank once, and cut.")
async def the_best_come_first(subject: PluginSubject) -> None:
    """The choice of few is the beginning of the choice of many."""
    selector = await _prepare(subject)
    for query in sample_queries():
        many, few = await _choose(subject, selector, query, 5), await _choose(subject, selector, query, 2)
        expect(
            many[: len(few)] == few,
            f"{show([ref.title for ref in many[: len(few)]])} of two",
            [ref.title for ref in few],
        )
