"""The checks of a dataset and its driver."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from trialbed.contracts import Dataset, DatasetDriver
from trialbed.drivers import list_drivers
from trialbed.errors import UsageError
from trialbed.records import Api, Query
from trialbed.settings import data_dir
from trialbed_adapter_lab.conformance import expect, may, must
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.plugin_kit._check import PluginSubject, expect_kind, expect_usage_error

UNKNOWN = "no-such-test-set"
SHOWN = 3


def _driver(subject: PluginSubject) -> DatasetDriver:
    return cast("DatasetDriver", subject.thing())


async def _open(subject: PluginSubject) -> Dataset:
    """The dataset of the test set that the subject names, else of the driver's default, else of the first there is."""
    driver, folder = _driver(subject), data_dir()
    there = await subject.call("the test sets", driver.test_sets, folder)
    for test_set in [subject.part] if subject.part else [None, *there]:
        try:
            found = await subject.call(f"the dataset {test_set}", driver.open, test_set, folder, allowed=(UsageError,))
        except UsageError as error:
            if subject.part:
                raise NotTried(str(error)) from error
            continue
        expect_kind("what open returns", found, Dataset)
        return cast("Dataset", found)
    raise NotTried("it has no test set here; name one: NAME:TEST_SET")


async def _parts(subject: PluginSubject) -> tuple[Dataset, Sequence[Query], Sequence[Api]]:
    dataset = await _open(subject)
    queries = await subject.call("its queries", dataset.queries)
    apis = await subject.call("its Apis", dataset.apis)
    return dataset, queries, apis


@must(reason="Runs are made of them.", hint="Return a sequence of trialbed.Query and trialbed.Api.")
async def queries_and_apis_are_records(subject: PluginSubject) -> None:
    """It has queries and Apis, which are records."""
    _, queries, apis = await _parts(subject)
    expect(len(queries) > 0, "at least one query", "none")
    for query in queries:
        expect_kind("each query", query, Query)
    for api in apis:
        expect_kind("each Api", api, Api)


@must(
    reason="Trials are kept by the query's id, and tools by the Api's identity.",
    hint="Number the queries; drop Apis that are there twice.",
)
async def identities_are_unique(subject: PluginSubject) -> None:
    """Each query has an id of its own, and each Api is there once."""
    _, queries, apis = await _parts(subject)
    for what, found in (("query id", [query.query_id for query in queries]), ("Api", [api.ref.title for api in apis])):
        twice = [item for item, count in Counter(found).items() if count > 1]
        expect(not twice, f"each {what} once", twice[:SHOWN])
    for query in queries:
        refs = Counter(api.ref.title for api in query.apis)
        expect(max(refs.values(), default=1) == 1, f"each Api of query {query.query_id} once", refs.most_common(SHOWN))


@must(
    reason="The expected calls could not be made, and every framework would be scored 0.",
    hint="Give a query the Apis of its expected calls.",
)
async def gold_calls_can_be_made(subject: PluginSubject) -> None:
    """The Api of each expected call is one of its query's, and each Api of a query one of the dataset's."""
    _, queries, apis = await _parts(subject)
    known = {api.ref for api in apis}
    for query in queries:
        own = {api.ref for api in query.apis}
        lost = [call.api.title for call in query.gold_calls if call.api not in own]
        expect(not lost, f"the expected Apis of query {query.query_id} among its own", lost[:SHOWN])
        unknown = [ref.title for ref in own if ref not in known]
        expect(not unknown, f"the Apis of query {query.query_id} among the dataset's", unknown[:SHOWN])


@must(
    reason="An interrupted run is continued only with the same tasks.",
    hint="Read files in a fixed order; draw nothing without a seed.",
)
async def it_is_the_same_when_opened_again(subject: PluginSubject) -> None:
    """Opened again, it has the same digest, queries and Apis in the same order."""
    first, second = await _parts(subject), await _parts(subject)
    digests = [await subject.call("a digest", one[0].digest) for one in (first, second)]
    expect(digests[0] == digests[1], f"the digest {digests[0][:12]} again", digests[1][:12])
    expect([*first[1]] == [*second[1]], "the same queries in the same order", "others, or in another order")
    expect([api.ref for api in first[2]] == [api.ref for api in second[2]], "the same Apis in the same order", "others")


@must(reason="It would change what others are given.", hint="Return a new list, or a tuple.")
async def its_lists_are_its_own(subject: PluginSubject) -> None:
    """A caller that changes a list of queries or Apis changes nothing of the dataset."""
    dataset, queries, _ = await _parts(subject)
    before = len(queries)
    for found in (queries, await subject.call("its Apis", dataset.apis)):
        if isinstance(found, list):
            copy: list[Any] = [*found]
            found.clear()
            after = len(await subject.call("its queries", dataset.queries))
            found[:] = copy
            expect(after == before, f"{before} queries after a caller emptied a list of its own", after)


@must(reason="Users misspell names.", hint="Raise trialbed.errors.UsageError, and list the test sets that there are.")
async def unknown_test_sets_are_refused(subject: PluginSubject) -> None:
    """A test set that does not exist is a UsageError, or a DataError, with a text."""
    driver = _driver(subject)
    with tempfile.TemporaryDirectory() as folder:
        await expect_usage_error(subject, f"the test set {UNKNOWN!r}", driver.open, UNKNOWN, Path(folder))


@must(reason="Nobody has imported anything at first.", hint="Return an empty list where the folder is empty or absent.")
async def an_empty_folder_is_taken(subject: PluginSubject) -> None:
    """Without imported data, the test sets can be listed, as texts."""
    with tempfile.TemporaryDirectory() as folder:
        for place in (Path(folder), Path(folder) / "absent"):
            for name in await subject.call("a list of test sets", _driver(subject).test_sets, place):
                expect_kind("each test set", name, str)


@must(reason="Calls of its tools could not be answered.", hint="Name an installed simulator, such as template.")
async def its_simulator_is_installed(subject: PluginSubject) -> None:
    """It names a test set for result documents, and a simulator that is installed."""
    dataset, _, _ = await _parts(subject)
    expect_kind("test_set", dataset.test_set, str)
    expect(
        bool(dataset.test_set) and "/" not in dataset.test_set,
        "a test_set that can be in a file's name",
        dataset.test_set,
    )
    names = [driver.name for driver in list_drivers("simulators")]
    expect(dataset.simulator in names, f"one of the simulators {', '.join(names)}", dataset.simulator)


@may(
    reason="Only such a query has a right answer that can be checked.",
    hint="Give gold_calls, reference_facts or a reference_answer.",
)
async def queries_can_be_checked(subject: PluginSubject) -> None:
    """Each query says what solves it: expected calls, facts, an answer, a final state or an expectation."""
    _, queries, _ = await _parts(subject)
    bare = [
        query.query_id
        for query in queries
        if not (query.gold_calls or query.reference_facts or query.reference_answer or query.expected)
        and query.final_state is None
    ]
    expect(not bare, "queries that say what solves them", bare[:SHOWN])
