"""Mutants that an author of adapters, from outside, found to pass an earlier kit."""

from __future__ import annotations

import asyncio
import json
import re
import time
import unicodedata

from support.mutants._mutant import at, texts, walk
from support.mutants.failures import _within
from support.mutants.messages import _change
from support.mutants.settings import _failed, _less

for seconds in (3, 10):
    harm = _within(seconds)
    harm.__name__ = f"waits_{seconds}_seconds_for_the_model"
    at("ask", f"the model may take {seconds} seconds")(harm)


@at("request", "the model is told to remember the task every five turns")
def reminds_every_five_turns(self, request):
    more = [{"role": "user", "content": "Remember the task."}] if self.turn % 5 == 0 else []
    return {**request, "messages": [*request["messages"], *more]}


@at("request", "no tools are offered after eight results")
def offers_nothing_after_eight_results(_, request):
    results = [message for message in request["messages"] if message["role"] == "tool"]
    return _less(request, "tools") if len(results) > 8 else request


@at("request", "the seed grows from the fourth request on")
def grows_seeds(self, request):
    return {**request, "seed": request["seed"] + max(0, self.turn - 3)}


@at("request", "the model may call nothing in the last request")
def forbids_calls_at_the_limit(self, request):
    last = self.turn == self.limits.max_steps and "tools" in request
    return {**request, "tool_choice": "none"} if last else request


@at("request", "the temperature is higher after a failed call")
def heats_up_after_errors(_, request):
    return {**request, "temperature": 0.7} if _failed(request) else request


@at("request", "older results are left out beyond 60,000 characters")
def omits_older_results(_, request):
    messages, spent = [], 0
    for message in reversed(request["messages"]):
        spent += len(message["content"] or "")
        omitted = message["role"] == "tool" and spent > 60_000
        messages.insert(0, {**message, "content": "[omitted]"} if omitted else message)
    return {**request, "messages": messages}


@at("make", "calls of a turn that are not done after 1.5 s are not waited for")
async def waits_little_for_calls(self, calls):
    tasks = [asyncio.ensure_future(self._result(call)) for call in calls]
    done, _ = await asyncio.wait(tasks, timeout=1.5) if len(tasks) > 1 else await asyncio.wait(tasks)
    return [
        task.result() if task in done else {"role": "tool", "tool_call_id": call["id"], "content": "pending"}
        for task, call in zip(tasks, calls, strict=True)
    ]


@at("tool", "the fourth equal call in succession is not made")
async def guards_against_loops(self, tool, arguments):
    last = [(call.name, json.dumps(call.arguments)) for call in self._calls][-4:]
    looped = len(last) == 4 and len(set(last)) == 1
    return "Error: you repeat yourself" if looped else await tool.ainvoke(arguments)


@at("ask", "the models are looked up in the process's third trial")
async def looks_models_up_once(self, messages):
    trials = type(self).memory.setdefault("trials", [])
    if self.turn == 1:
        trials.append(self)
        if len(trials) == 3:
            await self._client.get(f"{self.endpoint.base_url}/models")
    return await self._ask(messages)


@at("content", "results say true as Python does")
def capitalises_truth(_, content):
    return re.sub(r"\btrue\b", "True", content)


@at("content", "blank lines of results are squashed")
def squashes_blank_lines_of_results(_, content):
    return re.sub(r"\n{2,}", "\n", content)


@at("arguments", "letters of arguments are composed anew")
def composes_letters_of_arguments(_, arguments):
    return walk(arguments, texts(lambda text: unicodedata.normalize("NFC", text)))


@at("request", "query and prompt lose the blanks around them")
def strips_query_and_prompt(_, request):
    return _change(_change(request, "system", str.strip), "user", str.strip)


@at("answer", "claimed responses are cut at 500 characters")
def cuts_claimed_responses_early(_, answer):
    cut = (call.model_copy(update={"response": (call.response or "")[:500]}) for call in answer.calls)
    return answer.model_copy(update={"calls": tuple(cut)})


@at("ask", "the event loop is held before each request")
async def holds_the_loop_before_requests(self, messages):
    time.sleep(0.3)  # noqa: ASYNC251 - that is the harm
    return await self._ask(messages)


@at("make", "no more than four calls of a turn are made at once")
async def makes_four_at_once(self, calls):
    results = []
    for start in range(0, len(calls), 4):
        results += await asyncio.gather(*map(self._result, calls[start : start + 4]))
    return results


@at("content", "the word Error is cut from a result")
def trims_errors(_, content):
    return content.removeprefix("Error: ")


@at("definitions", "two tools of one schema change places")
def swaps_tools_of_one_schema(_, tools):
    if len(tools) == 2 and tools[0]["function"]["parameters"] == tools[1]["function"]["parameters"]:
        return tools[::-1]
    return tools
