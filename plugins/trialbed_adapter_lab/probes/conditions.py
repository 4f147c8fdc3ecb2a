"""Check that all frameworks ask the same model the same question, in every request and with every policy."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any

from trialbed.records import Json
from trialbed.texts import number_of
from trialbed.wire import ModelMessage, OfferedTool
from trialbed_adapter_lab.differences import show
from trialbed_adapter_lab.harness import (
    INVARIANTS,
    KEY,
    QUERY,
    SYSTEM_PROMPT,
    Harness,
    ObservedRequest,
    TrialSettings,
    tool,
)
from trialbed_adapter_lab.probe import CheckFailed, Probe, Theme, expect
from trialbed_adapter_lab.trials import (
    asks_echo,
    converse,
    converse_on_everything,
    expect_equal,
    expect_requests,
    expect_words,
    play,
    stations,
)
from trialbed_scripted import forever

CONDITIONS = Theme("conditions", "Check that every framework asks the same model the same question in the same way.")

SETTINGS = {"temperature": 0.0, "seed": 0, "max_tokens": 1}
"""The settings of a trial; each dialect writes the settings that it has."""

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Names of an answer's limit in the dialects."""

MANY_TOOLS = [tool(), *(tool(f"Other_{number}") for number in range(5))]
AS_ASKED = "as asked"

DEFAULTS: dict[str, tuple[Any, ...]] = {
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
    "top_p": (1,),
    "top_k": (),
    "min_p": (0,),
    "n": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "logit_bias": ({},),
    "stop": ([], ""),
    "stop_sequences": ([],),
    "response_format": ({"type": "text"},),
    "text": ({}, {"format": {"type": "text"}}),
    "reasoning_effort": (),
    "reasoning": ({},),
    "thinking": ({"type": "disabled"},),
    "truncation": ("disabled",),
    "verbosity": (),
}
"""Settings that change a model's answers -> the values that change nothing; null is one of each."""


@CONDITIONS.must(
    binds="all",
    reason="Without the task, the framework is not measured on it; all frameworks get the same instructions.",
    hint="Pass the task as the user's message, and self.system_prompt as the framework's instructions.",
)
async def query_and_prompt_are_sent(harness: Harness) -> None:
    """The first request has messages with the texts of the task and of the system prompt."""
    expect_words((await _requests(harness))[0], [QUERY, SYSTEM_PROMPT])


@CONDITIONS.should(
    reason="Words that a framework adds are instructions that the others did not get.",
    hint="Look for the framework's own prompt templates, names and roles, and switch them off or override them.",
)
async def nothing_is_added_to_the_messages(harness: Harness) -> None:
    """The first request holds the system prompt and the task, each in its role, and nothing else."""
    first, *_ = await _requests(harness)
    expected = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": QUERY}]
    seen = [_plain(message) for message in first.request.messages if message.role]
    expect_equal("messages of the first request", seen, expected)


@CONDITIONS.must(
    binds="all",
    reason="With another model, the results cannot be compared.",
    hint="Pass self.endpoint.model to the client; do not let it choose one.",
)
async def model_is_named(harness: Harness) -> Json:
    """Every request names the trial's model."""
    return await _expect_setting(harness, "model", "gpt-4o")


@CONDITIONS.must(
    reason="Models of vendors have such names, and with another model the results cannot be compared.",
    hint="Pass self.endpoint.model unchanged; some frameworks read a prefix as the vendor.",
)
async def model_names_of_vendors_are_kept(harness: Harness) -> Json:
    """Slashes, dots and colons in the model's name reach the model's endpoint."""
    return await _expect_setting(harness, "model", "Vendor/Harness-4.1:free")


@CONDITIONS.should(
    reason="Frameworks' defaults differ; the trial's temperature must be the same for all.",
    hint="Set the temperature in the model's settings, including 0, which is easily mistaken for unset.",
    quick=True,
)
async def temperature_is_sent(harness: Harness) -> Json:
    """Every request has the trial's temperature, including 0."""
    return await _expect_setting(harness, "temperature", 0.0, 0.35, 1.7)


@CONDITIONS.should(
    binds="all",
    reason="The seed makes a trial repeatable if the model supports it.",
    hint="Set the seed in the model's settings, including 0, which is easily mistaken for unset.",
    quick=True,
)
async def seed_is_sent(harness: Harness) -> Json:
    """Every request has the trial's seed, including 0, if its dialect has one."""
    return await _expect_setting(harness, "seed", 0, 123456789)


@CONDITIONS.should(
    reason="The limit on a completion's length is the same for all.",
    hint="Send it as `max_tokens`, which all compatible endpoints know (`max_output_tokens` in responses); SDKs may "
    "rename it.",
    quick=True,
)
async def max_tokens_is_sent(harness: Harness) -> Json:
    """Every request has the trial's max_tokens by its dialect's name, or no limit if neither asks for one."""
    for request in await _requests(harness, max_tokens=321):
        name = "max_output_tokens" if "max_output_tokens" in _usual(request) else "max_tokens"
        _expect_sent(request, name, 321)
        others = {other: request.body[other] for other in LIMITS if other != name and other in request.body}
        expect(not others, "no other limit", others)
    for request in await _requests(harness):
        bounds = {name: request.body.get(name) for name in LIMITS}
        needed = any(name in request.spoken.write_request("", (), {}) for name in LIMITS)
        expect(needed or not any(bounds.values()), "no limit on tokens where the trial has none", bounds)
    return AS_ASKED


@CONDITIONS.should(reason="Streamed responses are timed and counted differently.", hint="Switch streaming off.")
async def responses_are_not_streamed(harness: Harness) -> None:
    """No request asks for a stream."""
    for request in await _requests(harness):
        expect(not request.body.get("stream"), "no `stream`, or false", request.body.get("stream"))


@CONDITIONS.must(
    binds="all",
    reason="The gateway knows a trial by its URL and takes the dummy key; endpoints without a gateway take no other.",
    hint="Pass self.endpoint.api_key to the client; do not let it read one from the environment.",
    quick=True,
)
async def key_is_sent(harness: Harness) -> None:
    """Every request carries the trial's key, as a bearer token or in the header of Anthropic's SDKs."""
    for request in await _requests(harness):
        name = "x-api-key" if "x-api-key" in request.headers else "authorization"
        expect_equal(name, request.headers.get(name), KEY if name == "x-api-key" else f"Bearer {KEY}")


@CONDITIONS.must(
    binds="all",
    reason="The gateway measures requests to the model; others are not measured, and endpoints speak few dialects.",
    hint="Choose the API of the dialect that the class declares as `dialect`, and switch look-ups of models off.",
    quick=True,
)
async def only_the_model_is_asked(harness: Harness) -> None:
    """The trial asks its model in the adapter's `dialect` and makes its calls, and sends the server nothing else."""
    before = len(harness.strays)
    record = await converse(harness, asks_echo("x"))
    requests = expect_requests(record, 2, or_more=True)
    strays = [*record.strays, *harness.strays[before:]]
    expect(not strays, "only requests to the model, and calls of the offered tools", strays)
    dialects = sorted({request.dialect for request in requests})
    # A program declares none, and may speak any.
    declared = dialects[:1] if record.is_program else [harness.agent_class.dialect]
    expect_equal("dialects of the requests", dialects, declared)


@CONDITIONS.should(
    reason="A trial that cannot be repeated cannot be compared with its recording.",
    hint="Look for times, random ids and sets in what the framework sends.",
)
async def requests_can_be_repeated(harness: Harness) -> None:
    """Two identical trials send identical requests."""
    one, other = [[request.body for request in await _requests(harness)] for _ in range(2)]
    expect_equal("requests of a second trial, compared with the first's", other, one)


@CONDITIONS.should(
    reason="These settings change which calls a model makes, and how it draws its words.",
    hint="Leave the setting out, or at the endpoint's default.",
    quick=True,
)
async def nothing_else_changes_the_model(harness: Harness) -> Json:
    """No request sets tool_choice, parallel_tool_calls, top_p, penalties, stop and the like to other values."""
    for request in await _requests(harness, tools=MANY_TOOLS):
        sent = {name: value for name, value in request.body.items() if name in DEFAULTS and value is not None}
        changed = {name: value for name, value in sent.items() if value not in DEFAULTS[name]}
        expect(not changed, "settings that change nothing", _list(changed))
    return "none"


@CONDITIONS.may(
    reason="Further settings can change how a model behaves, though most do not.",
    hint="Nothing needs to be done; declare what matters in deviations.",
)
async def nothing_else_is_set(harness: Harness) -> Json:
    """Requests have no fields but model, messages, temperature, seed, max_tokens, tools and `stream: false`."""
    for request in await _requests(harness, max_tokens=100, tools=MANY_TOOLS):
        more = {name: value for name, value in request.body.items() if name not in _usual(request)}
        expect(not more, "no further fields", _list(more))
    return "none"


@CONDITIONS.may(
    reason="A new connection per request costs time that a framework's users would pay as well.",
    hint="Keep one client for the whole trial.",
)
async def connection_is_reused(harness: Harness) -> None:
    """The requests of a trial come over one connection."""
    record = await converse(harness, asks_echo("x"), asks_echo("y"))
    expect(record.connections == 1, "1 connection for 3 requests", number_of(record.connections, "connection"))


async def _expect_setting(harness: Harness, name: str, *values: str | float) -> str:
    """Expect the trial's setting in every request, if its dialect has it."""
    found = AS_ASKED
    for value in values:
        for request in await _requests(harness, **{name: value}):
            if name not in _usual(request):
                found = "none in its dialect"
            else:
                _expect_sent(request, name, value)
    return found


def _expect_sent(request: ObservedRequest, name: str, value: str | float) -> None:
    """Expect a value of a setting; ``false`` does not count as 0."""
    seen = request.body.get(name)
    sent = f"sent as {show(seen)}" if name in request.body else "not sent"
    expect(seen == value and seen is not False, f"{name} {show(value)}", sent)


def _list(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {show(value)}" for name, value in fields.items())


async def _requests(harness: Harness, **conditions: Any) -> tuple[ObservedRequest, ...]:
    """Run a trial with a call, and return its two or more requests."""
    wanted: TrialSettings = {"tools": [tool()], **conditions}  # type: ignore[typeddict-item]
    record = await converse(harness, asks_echo("x"), **wanted)
    return expect_requests(record, 2, or_more=True)


def _plain(message: ModelMessage) -> dict[str, Any]:
    """Return the message with its text as a string, and without empty fields."""
    kept = {name: value for name, value in message.source.items() if value and (name, value) != ("type", "message")}
    return kept | {"content": message.text}


def _usual(request: ObservedRequest) -> frozenset[str]:
    """Return the fields that a trial uses in a request of this dialect; ``stream`` may be false."""
    said = (ModelMessage(role="system", content="x"), ModelMessage(role="user", content="x"))
    return frozenset(request.spoken.write_request("", said, SETTINGS, (OfferedTool("x"),))) | {"stream"}


INVARIANT = Theme("invariants", "Check the invariants of every request in every trial, including long ones.")

TURNS = 20
"""More than frameworks keep in mind that shorten conversations."""


async def _holds(invariant: str, harness: Harness) -> None:
    if not harness.oracle.saw_long_trials:
        harness.oracle.saw_long_trials = True
        turns = [asks_echo(str(number)) for number in range(TURNS)]
        await converse_on_everything(harness)
        await harness.run(*turns, "done", max_steps=TURNS + 2)
        await harness.run(forever(asks_echo("more")), max_steps=3)
        await harness.run(replace(asks_echo("last"), text="Let me look."), "")
    breaches = harness.oracle.breaches(invariant)
    more = f" (and {len(breaches) - 1} more)" if len(breaches) > 1 else ""
    expect(not breaches, "no breach in any trial", "".join(breaches[:1]) + more)


EVERYWHERE = tuple(
    Probe(
        name,
        "should",
        f"{one.breaches.__doc__} This holds in every trial of the checks before.",
        one.reason,
        one.hint,
        partial(_holds, name),
        theme=INVARIANT.name,
        quick=True,
    )
    for name, one in INVARIANTS.items()
)
"""The checks that look at the trials of those before them."""


POLICIES = Theme("policies", "Check that each scripted model leads to the requests and calls in the truth table.")

CALLS, LIMIT = 3, 8


@POLICIES.should(
    reason="Scores of scripted models are known in advance only if every framework takes the same steps with them.",
    hint="See which policy differs: the docs of scripted models say what each of them does.",
)
async def scripted_models_take_their_turns(harness: Harness) -> Json:
    """Each scripted model gets the requests, and makes the calls, that its documentation names."""
    tools, script = stations(CALLS + 1, CALLS)
    seen, right = dict[str, Json](), dict[str, Json]()
    for name, outcome in _right_outcomes().items():
        record = await harness.run(*play(name, tools, script, LIMIT + 1), tools=tools, max_steps=LIMIT)
        seen[name] = _count(len(record.requests), len(record.calls)) + (" and an error" if record.failure else "")
        right[name] = _count(*outcome)
    others = [name for name in seen if seen[name] != right[name]]
    if others:
        shown = ("; ".join(f"{outcomes[name]} of scripted:{name}" for name in others) for outcomes in (right, seen))
        raise CheckFailed("expected {}; seen: {}".format(*shown), seen=seen)
    return seen


def _right_outcomes() -> dict[str, tuple[int, int]]:
    """Return ``policy -> its requests and calls`` through a framework that changes nothing, from the truth table."""
    matrix = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
    rows = {policy: {**matrix["fields"], **row} for policy, row in matrix["right"].items()}
    names = {"__builtins__": {}, "n": CALLS, "l": LIMIT}
    # Expressions of the package's own file.
    return {policy: (eval(row["turns"], names), eval(row["calls"], names)) for policy, row in rows.items()}  # noqa: S307


def _count(requests: int, calls: int) -> str:
    return f"{number_of(requests, 'request')}, {number_of(calls, 'call')}"
