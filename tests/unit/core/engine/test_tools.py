from __future__ import annotations

from trialbed.engine._gold import gold_script
from trialbed.records import Api, GoldCall, Parameter, Query, ToolSpec

API = Api(
    category="Data",
    tool_name="Stars",
    api_name="by id",
    required_parameters=(
        Parameter(name="id", type="NUMBER", default="12"),
        Parameter(name="prose", type="NUMBER", default="any number"),
        Parameter(name="empty", default=""),
        Parameter(name="from", default="here"),
        Parameter(name="kind", type="ENUM", enum=("a", "b")),
        Parameter(name="id", type="STRING", default="again"),
    ),
    optional_parameters=(Parameter(name="rest", default="left out"),),
)
OTHER = API.model_copy(update={"api_name": "other"})
TOOL = ToolSpec(name="Stars_by_id", description="", parameters=API.parameters_schema(), api=API.ref)


def query(*calls: GoldCall) -> Query:
    return Query(query_id=1, text="?", apis=(API, OTHER), gold_calls=calls)


def test_the_datasets_arguments_are_played_as_they_are() -> None:
    (call,) = gold_script(query(GoldCall(api=API.ref, arguments={"id": 5})), [TOOL])
    assert (call.name, call.arguments) == ("Stars_by_id", {"id": 5})


def test_missing_arguments_are_defaults_of_the_right_type_else_examples() -> None:
    (call,) = gold_script(query(GoldCall(api=API.ref)), [TOOL])
    assert call.arguments == {"id": 12, "prose": 1, "empty": "example", "from": "here", "kind": "a"}


def test_a_gold_api_that_is_not_offered_cannot_be_played() -> None:
    assert gold_script(query(GoldCall(api=OTHER.ref)), [TOOL]) == ()
