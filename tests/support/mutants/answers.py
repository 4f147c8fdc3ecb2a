"""Mutants of what a trial ends with: answers, claims, calls in text, faults of the model, limits."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata

import httpx
from support.mutants._mutant import MUTANTS, Mutant, at

from trialbed import Answer, ModelFailed, Usage

# Calls in text


def _written(found, tools):
    """The calls that a pattern found in a text."""
    return [
        {"id": f"written_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(found)
        if name in tools
    ]


def _in_text(self, message, pattern):
    if message.get("tool_calls") or not message["content"]:
        return message
    calls = _written(re.findall(pattern, message["content"], re.DOTALL), self._tools)
    return {**message, "tool_calls": calls} if calls else message


@at("message", "a call in tags of the text is made")
def reads_tags(self, message):
    return _in_text(self, message, r'<tool_call>\s*\{"name":\s*"(\w+)",\s*"arguments":\s*(\{.*?\})\s*\}\s*</tool_call>')


@at("message", "a call in a fence of the text is made")
def reads_fences(self, message):
    return _in_text(self, message, r'```(?:json)?\s*\{"name":\s*"(\w+)",\s*"arguments":\s*(\{.*?\})\s*\}\s*```')


@at("message", "an action in the text is made")
def reads_actions(self, message):
    return _in_text(self, message, r"Action:\s*(\w+)\s*Action Input:\s*(\{.*?\})")


@at("message", "a call as Python writes it in the text is made")
def reads_python_calls(self, message):
    found = _in_text(self, message, r"\b(\w+)\(text=('.*?'|\".*?\")\)")
    for call in found.get("tool_calls") or []:
        if call["id"].startswith("written"):
            call["function"]["arguments"] = json.dumps({"text": call["function"]["arguments"][1:-1]})
    return found


@at("message", "a call as the whole text is made")
def reads_bare_json(self, message):
    return _in_text(self, message, r'^\s*\{"name":\s*"(\w+)",\s*"(?:arguments|parameters)":\s*(\{.*?\})\s*\}\s*$')


# Answers


@at("text", "the answer loses the blanks around it")
def strips_answers(_, text):
    return text.strip()


@at("text", "the answer's thoughts are cut out")
def drops_thoughts(_, text):
    return re.sub(r"<think>.*?</think>\s*", "", text, flags=re.DOTALL)


@at("text", "the answer is what follows Final Answer")
def cuts_to_the_final_answer(_, text):
    return text.rpartition("Final Answer:")[2].strip() if "Final Answer:" in text else text


@at("text", "an answer loses its quotes")
def unquotes_answers(_, text):
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


@at("text", "an answer in a fence is taken out of it")
def opens_fences_of_answers(_, text):
    return re.sub(r"^```\w*\n|\n```$", "", text)


@at("text", "an answer that is JSON is written anew")
def rewrites_answers(_, text):
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


@at("text", "an answer is cut at 10,000 characters")
def cuts_answers(_, text):
    return text[:10_000]


@at("text", "an answer is its last line")
def takes_the_last_line(_, text):
    return text.rpartition("\n")[2] or text


@at("text", "an answer is composed anew")
def composes_answers(_, text):
    return unicodedata.normalize("NFC", text)


@at("text", "line ends of an answer are rewritten")
def rewrites_line_ends_of_answers(_, text):
    return text.replace("\r\n", "\n")


@at("text", "an answer has all texts of the trial")
def joins_texts(self, _text):
    return "\n".join(filter(None, self.said))


@at("text", "an answer is the first text of the trial")
def takes_the_first_text(self, text):
    return next(filter(None, self.said), text)


@at("text", "where the last text is empty, an earlier one is the answer")
def takes_an_earlier_text(self, text):
    return text or next(filter(None, reversed(self.said)), "")


@at("text", "where the last text is empty, the last result is the answer")
def takes_the_last_result(self, text):
    results = [message["content"] for message in self.messages if message["role"] == "tool"]
    return text or (results[-1] if results else "")


@at("text", "a text between brackets is dropped from the answer")
def drops_citations(_, text):
    return re.sub(r"\s?\[\d+\]", "", text)


@at("text", "letters outside of ASCII are dropped from the answer")
def keeps_ascii_of_answers(_, text):
    return text.encode("ascii", "ignore").decode()


# Claims


def _claims(answer, change):
    return answer.model_copy(update={"calls": tuple(map(change, answer.calls))})


@at("answer", "calls without arguments are not claimed")
def claims_calls_with_arguments(_, answer):
    return answer.model_copy(update={"calls": tuple(call for call in answer.calls if call.arguments)})


@at("answer", "equal calls are claimed once")
def claims_equal_calls_once(_, answer):
    kept = [
        call
        for index, call in enumerate(answer.calls)
        if call.arguments not in [c.arguments for c in answer.calls[:index]]
    ]
    return answer.model_copy(update={"calls": tuple(kept)})


@at("answer", "no more than fifty calls are claimed")
def claims_fifty_calls(_, answer):
    return answer.model_copy(update={"calls": answer.calls[:50]})


@at("answer", "claimed responses are cut at 2,000 characters")
def cuts_claimed_responses(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": (call.response or "")[:2000]}))


@at("answer", "claimed responses lose the blanks around them")
def strips_claimed_responses(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": (call.response or "").strip()}))


@at("answer", "claimed responses of a trial are those of its first call")
def claims_the_first_response(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": answer.calls[0].response}))


@at("answer", "claimed arguments are texts")
def claims_texts(_, answer):
    return _claims(
        answer, lambda call: call.model_copy(update={"arguments": {k: str(v) for k, v in call.arguments.items()}})
    )


@at("answer", "calls of the trial's last turn are claimed twice")
def claims_the_last_call_twice(_, answer):
    return answer.model_copy(update={"calls": (*answer.calls, *answer.calls[-1:])})


@at("answer", "the prompt's tokens of the longest request are claimed")
def claims_the_average(self, answer):
    if answer.usage is None or self.turn < 2:
        return answer
    usage = Usage(
        prompt_tokens=answer.usage.prompt_tokens // self.turn, completion_tokens=answer.usage.completion_tokens
    )
    return answer.model_copy(update={"usage": usage})


@at("answer", "turns are counted as calls")
def claims_calls_as_turns(_, answer):
    return answer.model_copy(update={"model_turns": len(answer.calls) + 1})


def _counts(name, cause, amount):
    """A mutant of the count of tokens."""

    def message(self, response):
        found = Mutant._message(self, response)
        usage = response.json().get("usage") or {}
        if self._usage is not None:
            self._usage += Usage(**amount(usage))
        return found

    MUTANTS.append(
        type(name, (Mutant,), {"_message": message, "cause": cause, "named": (), "memory": {}, "__module__": __name__})
    )


def _detail(usage, group, name):
    return (usage.get(group) or {}).get(name) or 0


_counts(
    "CountsCachedTokensTwice",
    "cached tokens are counted twice",
    lambda usage: {"prompt_tokens": _detail(usage, "prompt_tokens_details", "cached_tokens"), "completion_tokens": 0},
)
_counts(
    "CountsReasoningTwice",
    "reasoning tokens are counted twice",
    lambda usage: {
        "prompt_tokens": 0,
        "completion_tokens": _detail(usage, "completion_tokens_details", "reasoning_tokens"),
    },
)
_counts(
    "CountsAudioTokens",
    "tokens of audio are counted beside those of the prompt",
    lambda usage: {"prompt_tokens": _detail(usage, "prompt_tokens_details", "audio_tokens"), "completion_tokens": 0},
)

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
