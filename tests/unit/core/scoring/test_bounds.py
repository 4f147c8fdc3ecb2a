"""The bounds within which texts are read between two events."""

from __future__ import annotations

from support.cases import for_each

from trialbed.records import Api, ApiRef, Parameter, Query, ToolSpec
from trialbed.scoring import is_short


def api(**given: object) -> Api:
    return Api.model_validate({"category": "c", "tool_name": "t", "api_name": "a", **given})


def tool(description: str) -> ToolSpec:
    return ToolSpec(
        name="t", description=description, parameters={}, api=ApiRef(category="", tool_name="", api_name="a")
    )


LONG = "words and " * 2_100


@for_each(
    ("query", "tools", "short"),
    [
        (Query(query_id=1, text="Find it.", apis=(api(description="Finds."),)), [tool("Finds.")], True),
        (Query(query_id=1, text=LONG, apis=()), [], False),
        (Query(query_id=1, text="", apis=(api(description="word " * 280),) * 20), [], False),
        (
            Query(query_id=1, text="", apis=(api(optional_parameters=[Parameter(name="p", description=LONG)]),)),
            [],
            False,
        ),
        (Query(query_id=1, text="", apis=(api(template_response={"a": [LONG]}),)), [], False),
        (Query(query_id=1, text="", apis=()), [tool(LONG)], False),
    ],
)
def test_a_task_is_short_with_all_of_its_documentation(query: Query, tools: list[ToolSpec], short: bool) -> None:
    assert is_short(query, tools) is short
