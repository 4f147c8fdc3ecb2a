"""Records: frozen, strict, and the same after a round trip through JSON."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.cases import for_each

from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    ClaimedCall,
    Failure,
    GoldCall,
    Limits,
    ModelCall,
    ModelEndpoint,
    Outcome,
    Query,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    Usage,
    WireLog,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TRACK = ApiRef(category="Logistics", tool_name="Acme Parcels", api_name="track")
DEPOT = ApiRef(category="Logistics", tool_name="Acme Parcels", api_name="depot")
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


def test_a_score_is_found_by_its_name() -> None:
    found = result().score("sopr_score")
    assert found is not None
    assert found.label == "Solved"
    assert result().score("absent") is None


def test_a_failure_makes_a_failed_trial() -> None:
    assert not result().failed
    outcome = Outcome(started_at=NOW, wall_time=1, failure=Failure(kind="crash", message="signal 11"))
    assert result(outcome=outcome).failed


@given(query_id=st.integers() | st.text())
def test_a_query_id_keeps_its_type(query_id: int | str) -> None:
    key = TrialKey(framework="f", query_id=query_id)
    read = TrialKey.model_validate_json(key.model_dump_json())
    assert read == key
    assert type(read.query_id) is type(query_id)


@given(arguments=st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_arguments_are_the_same_after_json(arguments: dict[str, object]) -> None:
    call = GoldCall.model_validate({"api": TRACK, "arguments": arguments})
    read = GoldCall.model_validate_json(call.model_dump_json())
    assert read == call
    assert repr(read.arguments) == repr(call.arguments)  # 1, 1.0 and True are equal, but not the same


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TRACK.category = "Other"  # type: ignore[misc]


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(ValidationError, match="colour"):
        ApiRef.model_validate({"category": "c", "tool_name": "t", "api_name": "a", "colour": "red"})


def test_an_api_has_a_pair_and_a_title() -> None:
    assert TRACK.pair == ("Acme Parcels", "track")
    assert TRACK.title == "Acme Parcels_track"


def test_gold_apis_come_once_in_order() -> None:
    calls = tuple(GoldCall(api=api) for api in (DEPOT, TRACK, DEPOT))
    assert Query(query_id=1, text="?", apis=(), gold_calls=calls).gold_apis == (DEPOT, TRACK)


def test_usage_adds_up() -> None:
    total = Usage(prompt_tokens=3, completion_tokens=4) + Usage(prompt_tokens=10)
    assert (total.prompt_tokens, total.completion_tokens, total.total_tokens) == (13, 4, 17)


@for_each("limits", [{"max_steps": 0}, {"timeout": 0}, {"timeout": -1}])
def test_limits_must_leave_room(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(limits)


def test_an_endpoint_has_the_settings_that_were_given() -> None:
    endpoint = ModelEndpoint(base_url="http://127.0.0.1/v1", api_key="k", model="m", temperature=0.0)
    assert endpoint.given("temperature", "max_tokens", "seed") == {"temperature": 0.0, "seed": 0}
