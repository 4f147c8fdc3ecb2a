"""Finding the Api that a request is about."""

from __future__ import annotations

from trialbed.records import Api
from trialbed_server.response_store import ANY
from trialbed_server.simulators.frozen import FrozenSimulator
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import TargetCatalog

TEMPLATE = TemplateSimulator()


def api(tool: str, name: str) -> Api:
    return Api(category="News_Media", tool_name=tool, api_name=name)


def test_an_api_is_found_by_its_own_and_by_standardised_names() -> None:
    catalog = TargetCatalog([(api("My Tool", "/id"), TEMPLATE)], TEMPLATE)
    for names in (("My Tool", "/id"), ("my_tool", "is_id"), ("my_tool_for_News_Media", "is_id_for_my_tool")):
        target = catalog.target("News_Media", *names)
        assert target.api is not None, names
        assert target.ref.tool_name == "My Tool"
        assert target.name == ("News_Media", "my_tool", "is_id")


def test_a_documented_api_keeps_an_ending_that_would_be_cut_elsewhere() -> None:
    catalog = TargetCatalog(
        [(api("movies", "search_for_movies"), TEMPLATE), (api("movies", "search"), TEMPLATE)], TEMPLATE
    )
    names = {catalog.target("News_Media", "movies", name).name.api for name in ("search_for_movies", "search")}
    assert names == {"search_for_movies", "search"}


def test_an_unknown_api_goes_to_the_default_as_it_was_sent() -> None:
    target = TargetCatalog([], TEMPLATE).target("Data", "Some Tool", "List")
    assert target.api is None
    assert target.path == "Data/Some Tool/List"
    assert target.origin.provenance == "template"


def test_a_frozen_api_takes_answers_of_any_origin() -> None:
    assert TargetCatalog([], FrozenSimulator()).target("Data", "T", "A").origin == ANY


def test_the_origin_changes_with_the_documentation() -> None:
    first = TargetCatalog([(api("t", "a"), TEMPLATE)], TEMPLATE).target("News_Media", "t", "a").origin
    changed = api("t", "a").model_copy(update={"description": "new"})
    assert TargetCatalog([(changed, TEMPLATE)], TEMPLATE).target("News_Media", "t", "a").origin != first
