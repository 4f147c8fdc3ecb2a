"""Tests that this project's adapters share, and functions that read a trial of the kit's harness."""

from __future__ import annotations

import ast
import importlib.util
import json
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from trialbed.records import Answer, Usage, framework_profile
from trialbed.wire import Call
from trialbed_adapter_lab import CHECKS, Harness, Probe, TrialRecord, check_adapter, named_agent
from trialbed_adapter_lab.testing import AdapterConformance
from trialbed_scripted import Response, ask, call, fail, forever, say

ECHO = call("Echo_text", {"text": "one"})

NO_COMPLETIONS = (
    *("", "<html>", "[]", "{}", '{"choices": []}', '{"choices": null}', '{"choices": [null]}', '{"choices": [{}]}'),
    *('{"choices": [{"message": null}]}', '{"choices": "none"}'),
)

NO_OBJECTS = (
    *('{"text": ', "[1]", "[]", '"Oslo"', '""', "7", "null", "true", "()", "{'text': 'hello'}", '{"text": True}'),
    *(r'{"text": "\ud83d"}', '{"text": ' + "[" * 9_000 + "]" * 9_000 + "}", '{"text": ' + "1" * 5_000 + "}"),
)
"""Arguments that frameworks fail at, or guess an object from."""

BINDING = [check for check in CHECKS if check.level_for("native") != "may"]
"""The checks that a native profile can fail: what others see is told, and fails nothing."""


@pytest.mark.usefixtures("no_waiting")
class NativeTests(AdapterConformance):
    """Tests of every native or tuned profile; a subclass names the adapter and its package.

    Its clients repeat requests, and wait before: in its conformance checks too they need not.

    Class attributes:
        package: the adapter's.
        declared_findings: the checks that fail nothing, and of which the adapter declares all the same that it does not
            do as they ask.
    """

    package = ""
    declared_findings: tuple[str, ...] = ()

    @pytest.mark.parametrize("check", BINDING, ids=lambda check: check.name)
    def test_conformance(self, check: Probe, request: pytest.FixtureRequest) -> None:
        """The adapter does as the check asks, or declares that it does not."""
        super().test_conformance(check, request)

    def test_no_other_check_is_declared_than_these_and_what_is_declared_is_so(self) -> None:
        agent, _ = named_agent(self.framework)
        declared = {deviation.check for deviation in agent.deviations}
        others = [check for check in CHECKS if check.name in declared and check not in BINDING]
        assert {check.name for check in others} == {*self.declared_findings}
        findings = check_adapter(self.framework, others).findings if others else ()
        assert [(found.check, found.outcome) for found in findings] == [(check.name, "declared") for check in others]

    def test_the_program_stays_short(self) -> None:
        file = importlib.import_module(f"{self.package}.{framework_profile(self.framework)}").__file__
        assert file is not None
        assert len(Path(file).read_text(encoding="utf-8").splitlines()) < 140

    def test_no_profile_imports_the_other(self) -> None:
        for one, other in (("native", "controlled"), ("controlled", "native")):
            reached = own_imports(f"{self.package}.{one}")
            assert not any(name.startswith(f"{self.package}.{other}") for name in reached), f"{one} imports {other}"

    @pytest.mark.parametrize("status", [429, 500])
    async def test_a_request_that_fails_once_is_repeated(self, harness: Harness, status: int) -> None:
        record = await harness.run(fail(status), "done")
        assert (said(record), len(record.requests)) == ("done", 2)
        assert record.requests[0].body == record.requests[1].body


class ControlledTests:
    """Tests of every controlled profile; a subclass names the adapter."""

    @pytest.mark.parametrize("temperature", [None, 0.0])
    async def test_the_request_is_all_of_it_the_rigs(self, harness: Harness, temperature: float | None) -> None:
        asked: Any = {"query": "Why {input}?", "system_prompt": "Be {brief}.", "max_tokens": 9}
        record = await harness.run(ECHO, "done", **asked, temperature=temperature)
        first, second = record.requests
        assert first.body == {
            "model": "harness-model",
            "messages": [
                {"role": "system", "content": asked["system_prompt"]},
                {"role": "user", "content": asked["query"]},
            ],
            "temperature": 0.0,
            "seed": 0,
            "max_tokens": 9,
            "tools": [{"type": "function", "function": first.functions[0]}],
        }
        assert set(first.functions[0]) == {"name", "description", "parameters"}
        assert second.body == {**first.body, "messages": second.messages}
        assert second.messages[:2] == first.messages
        assert second.roles == ["system", "user", "assistant", "tool"]

    @pytest.mark.filterwarnings("ignore:Resolved model mismatch")
    @pytest.mark.parametrize("model", ["gpt-5", "openai/gpt-4o", "claude-3-5-haiku"])
    async def test_a_models_name_changes_nothing_but_the_name(self, harness: Harness, model: str) -> None:
        plain, named = [await harness.run(ECHO, "done", model=name, temperature=0.5) for name in ("plain", model)]
        assert [request.body for request in named.requests] == [
            {**seen.body, "model": model} for seen in plain.requests
        ]

    @pytest.mark.parametrize("text", NO_OBJECTS, ids=lambda text: text[:20])
    async def test_arguments_that_are_no_object_go_back_as_the_model_wrote_them(
        self, harness: Harness, text: str
    ) -> None:
        record = await harness.run(call("Echo_text", text), "done")
        assert (record.calls, answered(record).calls, answered(record).final_answer) == ((), (), "done")
        _, second = record.requests
        assert [made for _, _, made in second.tool_calls] == [text]
        assert second.results == [("call_0_0", f"Error: the arguments are not a JSON object: {text}")]

    @pytest.mark.parametrize("wrong", [call("Nobody"), call("Echo_text", "[1]"), call("Echo_text", "{")])
    async def test_a_model_that_calls_wrongly_again_and_again_is_stopped_by_the_step_limit_alone(
        self, harness: Harness, wrong: Call
    ) -> None:
        record = await harness.run(forever(ask(wrong, wrong)), max_steps=8)
        answer = answered(record)
        assert len(record.requests) == answer.model_turns == 8
        assert (answer.final_answer, answer.finish, answer.calls, record.calls) == ("", None, (), ())

    @pytest.mark.parametrize("max_steps", [1, pytest.param(30, marks=pytest.mark.long_trial)])
    async def test_a_model_that_repeats_itself_is_stopped_by_the_step_limit_alone(
        self, harness: Harness, max_steps: int
    ) -> None:
        said = ask(ECHO, text="Once more.", usage=Usage(prompt_tokens=10, completion_tokens=3))
        record = await harness.run(forever(said), max_steps=max_steps)
        answer = answered(record)
        assert len(record.requests) == len(record.calls) == len(answer.calls) == answer.model_turns == max_steps
        assert (answer.final_answer, answer.finish) == ("", None)
        assert answer.usage == Usage(prompt_tokens=10 * max_steps, completion_tokens=3 * max_steps)
        assert {text for request in record.requests for _, text in request.results} <= {'{"text": "one"}'}

    @pytest.mark.parametrize("end", [{"fields": {"refusal": "I would rather not."}}, {"finish_reason": "length"}])
    async def test_an_end_without_a_text_is_no_answer_and_what_came_before_it_counts(
        self, harness: Harness, end: dict[str, Any]
    ) -> None:
        answer = answered(await harness.run(ECHO, say(None, **end)))
        assert (answer.final_answer, answer.finish, len(answer.calls), answer.model_turns) == ("", None, 1, 2)

    async def test_texts_of_several_turns_are_not_strung_together(self, harness: Harness) -> None:
        answer = answered(await harness.run(ask(ECHO, text="First I look."), "GIVE_UP nothing there"))
        assert (answer.final_answer, answer.finish) == ("GIVE_UP nothing there", "give_up_and_restart")

    @pytest.mark.parametrize("body", NO_COMPLETIONS)
    async def test_what_is_no_completion_is_the_models_failure(self, harness: Harness, body: str) -> None:
        record = await harness.run(Response.text(body), "an answer that is never asked for")
        assert record.failure is not None
        assert record.failure.kind == "model"
        assert len(record.requests) == 1


def cell_of(profile: str, policy: str) -> tuple[int, int, str]:
    """The turns and calls of a cell of the truth table of scripted models, whichever the query, and its cause."""
    cells = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))["cells"]
    cell = [one for one in cells if profile in one["profiles"] and policy in one["policies"]][-1]
    return int(cell["turns"]), int(cell["calls"]), cell["cause"]


def own_imports(module: str) -> set[str]:
    """This module and all of its package that it comes to import, as the code says: to import them takes seconds."""
    package = module.partition(".")[0]
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    folder, reached, waiting = Path(spec.origin).parent, set(), [module]
    while waiting:
        name = waiting.pop()
        file = _file(folder, name) if name.partition(".")[0] == package else None
        if file is not None and name not in reached:
            reached.add(name)
            waiting += [name.rpartition(".")[0], *_imported(ast.parse(file.read_text(encoding="utf-8")))]
    assert module in reached
    return reached


def _file(folder: Path, name: str) -> Path | None:
    """The source of a module of the package in this folder; None for what is no module."""
    place = folder.joinpath(*name.split(".")[1:])
    found = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in found if file.is_file()), None)


def _imported(code: ast.Module) -> Iterator[str]:
    """Names of what code imports, and of what it imports from that."""
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


LIMITS = {"chat_completions": "max_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}
"""Dialect -> its name for the limit of an answer."""


async def check_dialect(harness: Harness, dialect: str) -> None:
    """Play a trial of a program over another class for models: it asks in that dialect, as it is told, to the end."""
    made = ask(call("Echo_text", {"text": "one"}))
    record = await harness.run(made, "done", system_prompt="Be brief.", temperature=0.5, max_tokens=77, seed=7)
    assert [request.dialect for request in record.requests] == [dialect, dialect]
    assert said(record) == "done"
    body = record.requests[0].body
    assert (body["temperature"], body[LIMITS[dialect]]) == (0.5, 77)
    assert dialect != "chat_completions" or body["seed"] == 7
    assert "Be brief." in record.requests[0].request.messages[0].text
    assert len(results(record)) == 1
    # CrewAI writes names in lower case.
    assert [claimed.name.casefold() for claimed in answered(record).calls] == ["echo_text"]
    assert answered(record).usage is not None


def answered(record: TrialRecord) -> Answer:
    """Return the answer of a trial that did not fail."""
    assert record.answer is not None, record.failure
    return record.answer


def said(record: TrialRecord) -> str:
    """Return the answer, or the type of the exception that ended the run."""
    return failure(record).partition(":")[0] if record.answer is None else record.answer.final_answer


def failure(record: TrialRecord) -> str:
    """Return the message of the exception that ended the run."""
    assert record.failure is not None, record.answer
    return record.failure.message


def results(record: TrialRecord) -> list[str]:
    """Return what the model was told of its calls in the last request."""
    return [text for _, text in record.requests[-1].results]


def refusal(status: int, message: str, code: str | None = None) -> Response:
    """Return a refusal of the model's endpoint in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
    return Response.text(json.dumps({"error": error}), status=status)
