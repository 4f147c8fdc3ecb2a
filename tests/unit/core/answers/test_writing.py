"""Writing answers, and reading them back."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.answers import answer_document, answer_names, read_answer
from trialbed.records import Answer, ApiRef, ClaimedCall, ToolSpec

API = ApiRef(category="Weather", tool_name="Weather_Tools", api_name="right_now")
OTHER = ApiRef(category="Weather", tool_name="Weather", api_name="then")
TOOLS = (
    ToolSpec(name="weather", description="", parameters={}, api=API),
    ToolSpec(name="then", description="", parameters={}, api=OTHER),
)

text = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=8)
offered = st.builds(
    ClaimedCall,
    name=st.sampled_from(["weather", "then"]),
    api=st.just(None),
    arguments=st.none() | st.dictionaries(text, values, max_size=4),
    response=text,
).map(lambda call: call.model_copy(update={"api": API if call.name == "weather" else OTHER}))
unknown = st.builds(
    ClaimedCall, name=st.just("no such tool"), arguments=st.dictionaries(text, values, max_size=2), response=text
)
calls = st.lists(offered | unknown, max_size=6).map(tuple)
ends = st.sampled_from(["give_answer", "give_up_and_restart", None])
answers = st.builds(Answer, final_answer=text, calls=calls, finish=ends, usage=st.none(), model_turns=st.none())


def titled(answer: Answer) -> Answer:
    """The answer with the names that a document has."""
    named = [call.model_copy(update={"name": call.api.title if call.api else call.name}) for call in answer.calls]
    return answer.model_copy(update={"calls": tuple(named)})


@settings(max_examples=examples(0.25))
@given(answers)
def test_what_is_written_is_read_back(answer):
    document = json.loads(json.dumps(answer_document(answer)))
    assert read_answer(document, answer_names(TOOLS)) == titled(answer)


def test_the_document_is_flat_and_has_original_names():
    answer = Answer(
        final_answer="mild",
        calls=(ClaimedCall(name="weather", api=API, arguments={"city": "Ås"}, response="{}"),),
        finish="give_answer",
    )
    assert answer_document(answer) == {
        "answer": {
            "final_answer": "mild",
            "answer_details": [
                {
                    "role": "tool",
                    "message": '{"name": "Weather_Tools_right_now", "arguments": {"city": "Ås"}, "response": "{}"}',
                    "next": [],
                },
                {
                    "role": "tool",
                    "message": '{"name": "Finish", "arguments": {"return_type": "give_answer", '
                    '"final_answer": "mild"}, "response": ""}',
                    "next": [],
                },
            ],
        },
        "called_apis": [["Weather_Tools", "right_now"]],
    }
