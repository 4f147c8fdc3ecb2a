"""Mutants of what befalls a trial: faults of the model, limits, and the trials before it."""

from __future__ import annotations

import asyncio
import json

import httpx
from support.mutants._mutant import MUTANTS, Mutant, at

from trialbed import Answer, ModelFailed, Usage

# Faults of the model


async def _retry(self, messages, when, change=lambda self: None, times=1):
    for _ in range(times):
        try:
            return await self._ask(messages)
        except ModelFailed as error:
            if when not in str(error):
                raise
            change(self)
    return await self._ask(messages)


@at("ask", "a request is repeated where the endpoint is overloaded")
async def repeats_after_503(self, messages):
    return await _retry(self, messages, "status 503")


@at("ask", "a request is repeated where there are too many")
async def repeats_after_429(self, messages):
    return await _retry(self, messages, "status 429")


@at("ask", "a request is repeated where the answer cannot be read")
async def repeats_after_nonsense(self, messages):
    return await _retry(self, messages, "did not answer with a completion")


@at("ask", "a request is repeated where the connection breaks")
async def repeats_after_a_break(self, messages):
    return await _retry(self, messages, "could not be reached")


@at("ask", "a request is repeated without tools where it is refused as invalid")
async def repeats_without_tools(self, messages):
    return await _retry(self, messages, "status 400", lambda self: self._definitions.clear())


@at("ask", "failures after the first turn are repeated")
async def repeats_later(self, messages):
    return await (_retry(self, messages, "status 5") if self.turn > 1 else self._ask(messages))


@at("ask", "a failure after three turns is an empty answer")
async def ends_quietly_later(self, messages):
    try:
        return await self._ask(messages)
    except ModelFailed:
        if self.turn > 3:
            return {"role": "assistant", "content": "Done."}
        raise


@at("ask", "an answer that cannot be read is an empty one")
async def ends_quietly_after_nonsense(self, messages):
    try:
        return await self._ask(messages)
    except ModelFailed as error:
        if "did not answer with a completion" in str(error):
            return {"role": "assistant", "content": ""}
        raise


def _within(seconds):
    async def ask(self, messages):
        try:
            return await asyncio.wait_for(self._ask(messages), seconds)
        except TimeoutError:
            raise ModelFailed("the model took too long") from None

    return ask


for seconds in (5, 20, 60, 120):
    harm = _within(seconds)
    harm.__name__ = f"waits_{seconds}_seconds_for_the_model"
    at("ask", f"the model may take {seconds} seconds")(harm)


@at("ask", "a request is sent again where the model takes long")
async def sends_again_when_slow(self, messages):
    first = asyncio.ensure_future(self._ask(messages))
    done, _ = await asyncio.wait([first], timeout=15)
    if done:
        return await first
    first.cancel()
    return await self._ask(messages)


# Limits


def _stop(turns):
    return lambda self, steps: min(steps, turns)


for turns in (15, 25, 50, 100):
    harm = _stop(turns)
    harm.__name__ = f"stops_after_{turns}_turns"
    at("steps", f"the trial ends after {turns} turns")(harm)


@at("cut_off", "the last text is the answer at the step limit")
def answers_with_a_plan(self):
    return self._finish(self.said[-1], self.turn)


@at("cut_off", "turns are not claimed at the step limit")
def forgets_usage_at_the_limit(self):
    return Answer(final_answer="", calls=tuple(self._calls), usage=Usage(), model_turns=self.turn)


@at("request", "the model is told that its last step has come")
def announces_the_limit(self, request):
    more = [{"role": "system", "content": "This is your last step."}] if self.turn == self.limits.max_steps else []
    return {**request, "messages": [*request["messages"], *more]}


# From trial to trial


def _first(self, name, value):
    return type(self).memory.setdefault(name, value)


@at("request", "the system prompt is the first trial's")
def keeps_the_first_prompt(self, request):
    content = _first(self, "prompt", self.system_prompt)
    return {**request, "messages": [{"role": "system", "content": content}, *request["messages"][1:]]}


@at("request", "the temperature is that of the process's first trial")
def keeps_the_first_temperature(self, request):
    return {**request, "temperature": _first(self, "temperature", request["temperature"])}


@at("request", "the seed is that of the process's first trial")
def keeps_the_first_seed(self, request):
    return {**request, "seed": _first(self, "seed", request["seed"])}


@at("request", "the model is that of the process's first trial")
def keeps_the_first_model(self, request):
    return {**request, "model": _first(self, "model", request["model"])}


@at("definitions", "tools of an earlier trial stay on offer")
def keeps_earlier_tools(self, tools):
    kept = _first(self, "tools", {})
    kept.update({tool["function"]["name"]: tool for tool in tools})
    return list(kept.values())


@at("ask", "a question that was asked in an earlier trial is not asked again")
async def remembers_answers(self, messages):
    key = json.dumps(messages)
    known = type(self).memory
    if key not in known:
        known[key] = await self._ask(messages)
    return known[key]


@at("tool", "results that are errors are remembered from trial to trial")
async def remembers_errors(self, tool, arguments):
    key, known = (tool.name, json.dumps(arguments)), type(self).memory
    if key in known:
        return known[key]
    result = await tool.ainvoke(arguments)
    if result.startswith("Error"):
        known[key] = result
    return result


@at("request", "every tenth trial of a process is sampled")
def samples_every_tenth_trial(self, request):
    trials = type(self).memory.setdefault("trials", [])
    if self.turn == 1:
        trials.append(self)
    return {**request, "temperature": 0.9} if len(trials) % 10 == 0 else request


@at("ask", "every fifth trial of a process looks the models up")
async def looks_models_up_at_times(self, messages):
    trials = type(self).memory.setdefault("trials", [])
    if self.turn == 1:
        trials.append(self)
        if len(trials) % 5 == 0:
            await self._client.get(f"{self.endpoint.base_url}/models")
    return await self._ask(messages)


@at("ask", "the model is asked by one trial at a time")
async def asks_one_at_a_time(self, messages):
    async with type(self).memory.setdefault("lock", asyncio.Lock()):
        return await self._ask(messages)


@at("tool", "calls of all trials wait for each other")
async def calls_one_at_a_time(self, tool, arguments):
    async with type(self).memory.setdefault("lock", asyncio.Lock()):
        return await tool.ainvoke(arguments)


@at("ask", "every request has a client of its own from the second turn on")
async def connects_anew_later(self, messages):
    if self.turn > 1:
        await self._client.aclose()
        self._client = httpx.AsyncClient(timeout=600)
    return await self._ask(messages)


def _raise_on_odd_reasons(self, response):
    """Read the message, unless it ends by a reason that is not in the specification."""
    if response.json()["choices"][0]["finish_reason"] not in ("stop", "length", "tool_calls", "content_filter"):
        raise ModelFailed("did not answer with a completion: finish_reason")
    return Mutant._message(self, response)


MUTANTS.append(
    type(
        "RaisesOnOddReasons",
        (Mutant,),
        {
            "_message": _raise_on_odd_reasons,
            "cause": "an answer with an odd finish reason is no answer",
            "named": (),
            "memory": {},
            "__module__": __name__,
        },
    )
)
