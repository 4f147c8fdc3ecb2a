"""Faults: a failing tool or a confused model costs a turn, a failing model the trial."""

from __future__ import annotations

import socket
from contextlib import closing

from trialbed.prompts import GIVE_UP
from trialbed_adapter_kit._check import CheckFailed, must, should
from trialbed_adapter_kit._expect import answered, asked, called, expect, expect_equal, shown, told
from trialbed_adapter_kit._recording import Play
from trialbed_adapter_kit._script import Raw, asks, call, fails, says
from trialbed_adapter_kit._stage import Stage
from trialbed_adapter_kit._tools import Held, breaks, errs, tool

STATUSES = (400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503)
NO_OBJECTS = ("[1]", '"Oslo"', "7", "null", "true")
NO_JSON = ('{"text": ', "text=hello", "{'text': 'hello'}", '{"text": "a"} {"text": "b"}')


@must(
    reason="An Api that fails is a situation to cope with, not the end of the task.",
    hint="tool.ainvoke() returns errors as text that begins with `Error:`; hand it on like any result.",
)
async def tool_error_goes_to_the_model(stage: Stage) -> None:
    """An Api's error reaches the model as the call's result, and the run goes on."""
    play = await stage.play(
        asks(call("Echo_text", {"text": "x"})), "so be it", tools=[tool(behave=errs("parrot is asleep"))]
    )
    answered(play, "so be it")
    _, second = asked(play, 2)
    told(second, ["parrot is asleep"])


@must(
    reason="The way to an Api can fail as well as the Api.",
    hint="tool.ainvoke() never raises for it; do not raise in its place.",
)
async def broken_api_goes_to_the_model(stage: Stage) -> None:
    """A server error in place of the Api's answer reaches the model as text, and the run goes on."""
    play = await stage.play(asks(call("Echo_text", {"text": "x"})), "so be it", tools=[tool(behave=breaks(500))])
    answered(play, "so be it")
    _, second = asked(play, 2)
    expect(len(play.calls) == 1, "one call of the Api: a failed call is not made again", f"{len(play.calls)}")
    told(second, ["500"])


@must(
    reason="A slow Api is no failing one.",
    hint="Do not give up on a tool before the trial's time limit.",
)
async def slow_tool(stage: Stage) -> None:
    """A tool that takes its time is waited for, and asked once."""
    held = Held(patience=0.5)
    play = await stage.play(asks(call("Echo_text", {"text": "slow"})), "done", tools=[tool(behave=held.tool())])
    answered(play, "done")
    _, second = asked(play, 2)
    called(play, ("Echo_text", {"text": "slow"}))
    told(second, ["slow"])


@must(
    reason="Models invent tools; that is theirs to learn.",
    hint="Answer with a tool message that says there is no such tool; many frameworks raise by default.",
)
async def unknown_tool_goes_back(stage: Stage) -> None:
    """A call of a tool that is not offered is answered with a text, and the run goes on."""
    turn = asks(call("Echo_nobody", {"text": "x"}))
    play = await stage.play(turn, asks(call("Echo_text", {"text": "y"})), "done")
    answered(play, "done")
    _, second, _ = asked(play, 3)
    told(second, [""])
    called(play, ("Echo_text", {"text": "y"}))


@must(
    reason="Models write broken JSON; that is theirs to learn.",
    hint="Answer with a tool message that says what is wrong; many frameworks raise, or end the run silently.",
)
async def bad_json_goes_back(stage: Stage) -> None:
    """Arguments that are no JSON are answered with a text, and the run goes on."""
    for text in NO_JSON:
        await _goes_back(stage, text)


@must(
    reason="JSON that is no object is no set of arguments.",
    hint="Check that the parsed arguments are a dict before they go anywhere.",
)
async def arguments_that_are_no_object_go_back(stage: Stage) -> None:
    """Arguments that are a list, a text, a number, a boolean or null are answered with a text, and the run goes on."""
    for text in NO_OBJECTS:
        await _goes_back(stage, text)


@should(
    reason="A call made of what the model did not write is the framework's call, not the model's.",
    hint="Switch the repair of broken JSON off, or refuse such arguments before the framework gets to them.",
)
async def broken_arguments_are_no_call(stage: Stage) -> None:
    """Arguments that are no JSON, or no object, are not made into a call."""
    for text in (*NO_JSON, *NO_OBJECTS):
        play = await stage.play(asks(call("Echo_text", text)), "done")
        made = [item.arguments for item in play.calls]
        expect(not made, f"no call for the arguments {text}", made)


@must(
    reason="One slip must not cost the calls beside it.",
    hint="Answer the invalid calls of a turn one by one, and make the valid ones.",
)
async def valid_calls_beside_invalid_ones(stage: Stage) -> None:
    """Beside a broken, an unknown and a listy call the valid ones are made, and every call has its result."""
    turn = asks(
        call("Echo_text", {"text": "first"}),
        call("Echo_text", '{"text": '),
        call("Echo_nobody", {"text": "x"}),
        call("Echo_text", "[1]"),
        call("Echo_text", {"text": "last"}),
    )
    play = await stage.play(turn, "done")
    answered(play, "done")
    _, second = asked(play, 2)
    made = [item.arguments for item in play.calls]
    for wanted in ("first", "last"):
        expect({"text": wanted} in made, f"the valid call {wanted!r} to be made", made)
    ids = sorted(made for made, _ in second.results)
    expect_equal("calls with a result", ids, sorted(made for made, _, _ in second.wanted))
    expect(len(ids) == 5, "a result of each of the five calls", second.results)


@must(
    reason="A model that refuses is no answer of the framework; error texts must not be taken for one.",
    hint="Raise trialbed.ModelFailed for every error of the endpoint; some frameworks return the error as the answer.",
)
async def model_errors_fail_the_trial(stage: Stage) -> None:
    """Each error status of the model's endpoint is raised as ModelFailed."""
    for status in STATUSES:
        _model_failed(await stage.play(fails(status)), f"status {status}")


@should(
    reason="A retry is a request the rig did not ask for; the gateway deals with vendors' limits for all alike.",
    hint="Set the client's and the framework's retries to 0.",
)
async def model_errors_are_not_retried(stage: Stage) -> None:
    """After an error status the model is not asked again."""
    for status in STATUSES:
        play = await stage.play(fails(status), "asked again")
        expect(len(play.requests) == 1, f"one request for status {status}", f"{len(play.requests)} requests")


@should(
    reason="Who reads the failures of a run wants to know what the endpoint said.",
    hint="Put the SDK's error text into ModelFailed.",
)
async def model_errors_are_named(stage: Stage) -> None:
    """The failure's message has the status and the endpoint's own words."""
    for status in (400, 429, 503):
        play = await stage.play(fails(status))
        message = play.failure.message if play.failure else "no failure"
        expect(str(status) in message, f"the status {status} in the failure's message", message)
        expect("the stage refuses" in message, "the endpoint's words, `the stage refuses …`, in the message", message)


@must(
    reason="A later failure is as much the model's as one at the start.",
    hint="Raise trialbed.ModelFailed wherever it happens; do not return what there is so far.",
)
async def model_error_after_calls(stage: Stage) -> None:
    """An error of the model's endpoint after a call fails the trial as well."""
    play = await stage.play(asks(call("Echo_text", {"text": "x"})), fails(500))
    _model_failed(play, "status 500 in the second request")


@must(
    reason="An endpoint that is down says nothing about the framework.",
    hint="Raise trialbed.ModelFailed for errors of the connection too.",
)
async def unreachable_model_fails_the_trial(stage: Stage) -> None:
    """A model that cannot be reached is raised as ModelFailed."""
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        play = await stage.play("never", base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    _model_failed(play, "an endpoint that refuses connections")


@must(
    reason="A response without a message is no answer.",
    hint="Look for IndexError or None where the framework reads choices[0], and raise trialbed.ModelFailed.",
)
async def response_without_choices_fails_the_trial(stage: Stage) -> None:
    """A completion without choices is raised as ModelFailed."""
    document = '{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}'
    _model_failed(await stage.play(Raw(200, document)), "a completion with `choices: []`")


@must(
    reason="A proxy's error page is no answer.",
    hint="Raise trialbed.ModelFailed where the response is no JSON object of a completion.",
)
async def response_that_is_no_json_fails_the_trial(stage: Stage) -> None:
    """A page of HTML in place of a completion is raised as ModelFailed."""
    page = Raw(200, "<html><body>Bad gateway</body></html>", "text/html")
    _model_failed(await stage.play(page), "a page of HTML with status 200")


@must(
    reason="An empty message is no answer; counting it as one would credit a framework with what it did not do.",
    hint="Use finish_of(text): it is None for an empty text.",
)
async def empty_answer_is_unfinished(stage: Stage) -> None:
    """A model that says nothing, as an empty text, as spaces or as null, leaves the trial unfinished."""
    for text in ("", None, "  \n "):
        play = await stage.play(says(text), says(text), says(text), says(text), max_steps=4)
        answer = answered(play)
        expect(answer.finish is None, f"finish None after the message {text!r}", answer.finish)
        expect(not answer.final_answer.strip(), f"an empty final_answer after {text!r}", answer.final_answer)


@should(
    reason="Asking again after an empty message is a second chance that other frameworks do not have.",
    hint="End the run with the first message without calls, empty or not.",
)
async def empty_answer_ends_the_run(stage: Stage) -> None:
    """A model that says nothing is not asked again."""
    play = await stage.play(says(""), "asked again")
    answered(play)
    asked(play, 1)


@must(
    reason="Giving up is an outcome of its own.",
    hint="Use finish_of(text) on the text as the model wrote it.",
)
async def giving_up(stage: Stage) -> None:
    """An answer that begins with GIVE_UP is kept, and read as giving up."""
    text = f"{GIVE_UP} The parrot does not talk."
    play = await stage.play(text)
    answer = answered(play, text)
    expect_equal("finish", answer.finish, "give_up_and_restart")


async def _goes_back(stage: Stage, arguments: str) -> None:
    """A call with these arguments is answered with a text; another in the next turn is made."""
    turn = asks(call("Echo_text", arguments))
    try:
        play = await stage.play(turn, asks(call("Echo_text", {"text": "right"})), "done")
        answered(play, "done")
        _, second, _ = asked(play, 3)
        told(second, [""])
        last = play.calls[-1].arguments if play.calls else None
        expect_equal("arguments of the last call", last, {"text": "right"})
    except CheckFailed as failed:
        raise CheckFailed(f"with the arguments {arguments}: {failed}") from None


def _model_failed(play: Play, what: str) -> None:
    if play.failure is None:
        answer = play.answer.final_answer if play.answer else ""
        raise CheckFailed(f"after {what}: expected ModelFailed; seen: the answer {shown(answer)}")
    if play.failure.kind != "model":
        raise CheckFailed(f"after {what}: expected ModelFailed; seen: {play.failure.message}")


CHECKS = (
    tool_error_goes_to_the_model,
    broken_api_goes_to_the_model,
    slow_tool,
    unknown_tool_goes_back,
    bad_json_goes_back,
    arguments_that_are_no_object_go_back,
    broken_arguments_are_no_call,
    valid_calls_beside_invalid_ones,
    model_errors_fail_the_trial,
    model_errors_are_not_retried,
    model_errors_are_named,
    model_error_after_calls,
    unreachable_model_fails_the_trial,
    response_without_choices_fails_the_trial,
    response_that_is_no_json_fails_the_trial,
    empty_answer_is_unfinished,
    empty_answer_ends_the_run,
    giving_up,
)
