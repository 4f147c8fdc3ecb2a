"""Records: frozen, strict, and the same after a round trip through JSON; parameters as JSON Schema."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.records import (
    Answer,
    Api,
    ApiCall,
    ApiRef,
    ClaimedCall,
    Limits,
    ModelCall,
    Outcome,
    Parameter,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
    finish_of,
    read_fault_plan,
    usable_default,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TRACK = ApiRef(category="Logistics", tool_name="Acme Parcels", api_name="track")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def result(**changes: object) -> TrialResult:
    wire = WireLog(
        trial="token-token",
        opened_at=NOW,
        model_calls=(
            ModelCall(
                started=0, duration=1, status=200, request="{}", response="{}", request_bytes=2, response_bytes=2
            ),
        ),
        api_calls=(ApiCall(started=1, duration=1, api=TRACK, offered=True, arguments={"parcel": "ZX-41"}),),
    )
    answer = Answer(final_answer="Here", calls=(ClaimedCall(name="track", api=TRACK, arguments={"a": 1}),))
    fields = {
        "trial": "token-token",
        "key": TrialKey(framework="f", query_id=1),
        "seed": 7,
        "outcome": Outcome(started_at=NOW, wall_time=2.5, answer=answer),
        "wire": wire,
        "timing": Timing(wall=2.5, model=1, tool=1, framework=0.5),
        "selected_tools": ("track",),
        "scores": (Score(name="sopr_score", value=1.0, label="Solved"),),
    }
    return TrialResult.model_validate({**fields, **changes})


def test_a_result_is_the_same_after_json() -> None:
    assert TrialResult.model_validate_json(result().model_dump_json()) == result()


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TRACK.category = "Other"  # type: ignore[misc]


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(ValidationError, match="colour"):
        ApiRef.model_validate({"category": "c", "tool_name": "t", "api_name": "a", "colour": "red"})


@for_each("limits", [{"max_steps": 0}, {"timeout": 0}, {"timeout": -1}])
def test_limits_must_leave_room(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(limits)


TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "ENUM", "DATE (YYYY-MM-DD)", "string", " int ")
DEFAULTS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())
PARAMETERS = st.lists(
    st.builds(
        Parameter,
        name=st.text(min_size=1, max_size=6),
        type=st.sampled_from(TYPES),
        description=st.text(max_size=8),
        default=DEFAULTS,
    ),
    max_size=5,
)


def api(required: tuple[Parameter, ...] = (), optional: tuple[Parameter, ...] = ()) -> Api:
    return Api(category="C", tool_name="T", api_name="A", required_parameters=required, optional_parameters=optional)


@for_each(
    ("kind", "default", "usable"),
    [
        ("STRING", "x", "x"), ("STRING", "", None), ("STRING", 5, None), ("NUMBER", "5", 5), ("NUMBER", "5.50", 5.5),
        ("NUMBER", "between 1 and 9", None), ("NUMBER", "nan", None), ("NUMBER", "inf", None), ("NUMBER", [1], None),
        ("NUMBER", True, None), ("INTEGER", "5.0", None), ("INTEGER", 5.0, None), ("BOOLEAN", "True", True),
        ("BOOLEAN", "no", None), ("BOOLEAN", 1, None), ("ARRAY", [], []), ("ARRAY", "[]", None),
        ("OBJECT", {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_usable_default(kind: str, default: Any, usable: Any) -> None:
    value = usable_default(Parameter(name="p", type=kind, default=default))
    assert value == usable
    assert type(value) is type(usable)


@given(PARAMETERS, PARAMETERS)
def test_any_parameters_give_a_valid_schema_whose_defaults_fit(
    required: list[Parameter], optional: list[Parameter]
) -> None:
    schema = api(tuple(required), tuple(optional)).parameters_schema()
    jsonschema_rs.meta.validate(schema)
    assert len(set(schema["required"])) == len(schema["required"])
    assert set(schema["required"]) <= set(schema["properties"])
    for property_schema in schema["properties"].values():
        if "default" in property_schema:
            jsonschema_rs.validate(property_schema, property_schema["default"])


@for_each(
    ("text", "finish"),
    [
        ("", None), (" \n\t", None), ("It is 21 degrees.", "give_answer"),
        ("GIVE_UP the Api is down", "give_up_and_restart"), ("\n  GIVE_UP", "give_up_and_restart"),
        ("I will not GIVE_UP: it is 21 degrees.", "give_answer"),
    ],
)  # fmt: skip
def test_finish_of(text: str, finish: str | None) -> None:
    assert finish_of(text) == finish


@for_each(
    ("plan", "place"),
    [
        ({"tools": {"rate": 2}}, "tools.rate"),
        ({"tools": {"rate": float("nan")}}, "tools.rate"),
        ({"tools": {"rate": 1, "faults": ["odd"]}}, "tools.faults.0"),
        ({"tools": {"rate": 1}, "hang_seconds": float("inf")}, "hang_seconds"),
        ({"model": {"rate": 1}, "slow_seconds": 0}, "slow_seconds"),
        ({"tools": {"rate": 1}, "huge_bytes": 10**12}, "huge_bytes"),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused_where_it_is_wrong(plan: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=f"--faults: {place}: Input should be"):
        read_fault_plan(json.dumps(plan))
