"""Mutants of what is set in a request, and of the tools that it offers."""

from __future__ import annotations

import re

from support.mutants._mutant import at, texts, walk, without


def _failed(request):
    return str(request["messages"][-1]["content"]).startswith("Error")


def _less(request, *names):
    return {name: value for name, value in request.items() if name not in names}


@at("request", "the seed is sent with the first request alone")
def seeds_once(self, request):
    return request if self.turn == 1 else _less(request, "seed")


@at("request", "the seed grows after a failed call")
def reseeds_after_errors(_, request):
    return {**request, "seed": request["seed"] + 1} if _failed(request) else request


@at("request", "the seed loses its upper bits")
def folds_seeds(_, request):
    return {**request, "seed": request["seed"] & 0xFFFF}


@at("request", "the temperature is left out after a failed call")
def cools_no_more_after_errors(_, request):
    return _less(request, "temperature") if _failed(request) else request


@at("request", "the temperature is rounded")
def rounds_the_temperature(_, request):
    return {**request, "temperature": round(request["temperature"], 1)}


@at("request", "the temperature is at most 1")
def bounds_the_temperature(_, request):
    return {**request, "temperature": min(request["temperature"], 1.0)}


@at("request", "the temperature rises with every tenth turn")
def heats_up(self, request):
    return {**request, "temperature": request["temperature"] + self.turn // 10 / 10}


@at("request", "the limit of tokens shrinks from turn to turn")
def saves_tokens(self, request):
    limit = request.get("max_tokens")
    return {**request, "max_tokens": max(1, limit - self.turn)} if limit and self.turn > 1 else request


@at("request", "requests after the first have a limit of tokens of the framework's own")
def bounds_later_turns(self, request):
    return {"max_tokens": 4096, **request} if self.turn > 1 else request


@at("request", "the model's name is folded to lower case")
def folds_the_models_name(_, request):
    return {**request, "model": request["model"].lower()}


@at("request", "the model's name is cut at a colon")
def cuts_the_models_name(_, request):
    return {**request, "model": request["model"].partition(":")[0]}


@at("request", "another model is asked in long conversations")
def asks_a_small_model_later(self, request):
    return {**request, "model": request["model"] + "-mini"} if self.turn > 9 else request


@at("request", "a penalty on repetition is set after two equal results")
def penalises_repetition(_, request):
    results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    return {**request, "frequency_penalty": 0.5} if results[-2:-1] == results[-1:] and results else request


@at("request", "the model must call a tool in its first turn")
def forces_the_first_call(self, request):
    return {**request, "tool_choice": "required"} if self.turn == 1 and "tools" in request else request


@at("request", "the model must call a tool after a failed call")
def forces_calls_after_errors(_, request):
    return {**request, "tool_choice": "required"} if _failed(request) else request


@at("request", "the model may call nothing in the last request but one")
def forbids_calls_near_the_limit(self, request):
    last = self.limits.max_steps - 1
    return {**request, "tool_choice": "none"} if self.turn >= last and "tools" in request else request


@at("request", "parallel calls are forbidden where more than three tools are offered")
def forbids_parallel_calls_of_many(_, request):
    return {**request, "parallel_tool_calls": False} if len(request.get("tools", ())) > 3 else request


@at("request", "the model's text ends at a word of the framework's")
def stops_at_observations(_, request):
    return {**request, "stop": ["\nObservation:"]}


@at("request", "the model is to think less after eight turns")
def thinks_less_later(self, request):
    return {**request, "reasoning_effort": "low"} if self.turn > 8 else request


@at("request", "two answers are asked for")
def asks_for_two(_, request):
    return {**request, "n": 2}


@at("request", "no tools are offered after a failed call")
def offers_nothing_after_errors(_, request):
    return _less(request, "tools") if _failed(request) else request


@at("request", "no tools are offered in the last request")
def offers_nothing_at_the_limit(self, request):
    return _less(request, "tools") if self.turn == self.limits.max_steps else request


@at("request", "a tool that was called ten times is offered no more")
def withdraws_tools(self, request):
    used = [call.name for call in self._calls]
    tools = [tool for tool in request.get("tools", ()) if used.count(tool["function"]["name"]) < 10]
    return {**request, "tools": tools}


@at("request", "the tools are offered in reverse from the second turn on")
def reverses_tools_later(self, request):
    return {**request, "tools": request["tools"][::-1]} if self.turn > 1 and "tools" in request else request


@at("request", "a tool to end with is offered after six turns")
def offers_an_end_later(self, request):
    function = {"name": "final_answer", "description": "Ends.", "parameters": {"type": "object", "properties": {}}}
    more = [{"type": "function", "function": function}] if self.turn > 6 else []
    return {**request, "tools": [*request["tools"], *more]} if "tools" in request else request


@at("definitions", "of two tools with the same description one is offered")
def drops_equal_descriptions(_, tools):
    return list({tool["function"]["description"]: tool for tool in reversed(tools)}.values())[::-1]


@at("definitions", "no more than 64 tools are offered")
def offers_64_tools(_, tools):
    return tools[:64]


@at("definitions", "no more than 128 tools are offered")
def offers_128_tools(_, tools):
    return tools[:128]


@at("definitions", "every tool is offered twice")
def offers_tools_twice(_, tools):
    return tools + tools


@at("definitions", "descriptions of tools are cut at 1,024 characters")
def cuts_descriptions(_, tools):
    return walk(
        tools,
        lambda v: (
            {**v, "description": v["description"][:1024]}
            if isinstance(v, dict) and "name" in v and isinstance(v.get("description"), str)
            else v
        ),
    )


@at("definitions", "a tool without description gets its name for one")
def describes_by_name(_, tools):
    for tool in tools:
        tool["function"]["description"] = tool["function"]["description"] or tool["function"]["name"]
    return tools


@at("definitions", "the first line of a description is all that is offered")
def keeps_first_lines(_, tools):
    for tool in tools:
        tool["function"]["description"] = tool["function"]["description"].partition("\n")[0]
    return tools


@at("definitions", "functions are declared strict")
def declares_strict(_, tools):
    for tool in tools:
        tool["function"]["strict"] = True
    return tools


@at("definitions", "hyphens in names of tools become underscores")
def replaces_hyphens(_, tools):
    for tool in tools:
        tool["function"]["name"] = tool["function"]["name"].replace("-", "_")
    return tools


@at("definitions", "names of tools are cut at 48 characters")
def cuts_names(_, tools):
    for tool in tools:
        tool["function"]["name"] = tool["function"]["name"][:48]
    return tools


SCHEMA_KEYS = {
    "drops_const": ("const",),
    "drops_bounds_of_numbers": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "drops_bounds_of_lengths": ("minLength", "maxLength", "minItems", "maxItems"),
    "drops_patterns": ("pattern",),
    "drops_examples": ("examples",),
    "drops_titles": ("title",),
    "drops_one_of": ("oneOf",),
    "drops_all_of": ("allOf",),
    "drops_descriptions_of_parameters": ("description",),
    "drops_prefix_items": ("prefixItems",),
}
for name, keys in SCHEMA_KEYS.items():

    def harm(_, schema, keys=keys):
        return walk(schema, without(*keys))

    harm.__name__ = name
    at("schema", f"{' and '.join(keys)} is left out of schemas")(harm)


def _each(schema, change):
    """Change every object within a schema that says its type."""
    return walk(schema, lambda value: change(value) if isinstance(value, dict) and "type" in value else value)


@at("schema", "properties get titles of the framework's own")
def adds_titles(_, schema):
    return _each(schema, lambda value: {"title": "Value", **value})


@at("schema", "no parameter is required")
def requires_nothing(_, schema):
    return walk(
        schema,
        lambda value: (
            {**value, "required": []} if isinstance(value, dict) and isinstance(value.get("required"), list) else value
        ),
    )


@at("schema", "every parameter is required")
def requires_everything(_, schema):
    return _each(
        schema,
        lambda v: {**v, "required": list(v["properties"])} if v["type"] == "object" and v.get("properties") else v,
    )


@at("schema", "whole numbers are offered as numbers")
def widens_integers(_, schema):
    return _each(schema, lambda value: {**value, "type": "number"} if value["type"] == "integer" else value)


@at("schema", "of several types the first is offered")
def takes_the_first_type(_, schema):
    return _each(schema, lambda v: {**v, "type": v["type"][0]} if isinstance(v["type"], list) and v["type"] else v)


@at("schema", "values of an enumeration are offered as texts")
def enumerates_texts(_, schema):
    return _each(
        schema,
        lambda value: (
            {**value, "enum": [str(item) for item in value["enum"]]} if isinstance(value.get("enum"), list) else value
        ),
    )


@at("schema", "parameters are offered in the order of the alphabet")
def sorts_parameters(_, schema):
    return _each(
        schema,
        lambda v: (
            {**v, "properties": dict(sorted(v["properties"].items()))} if isinstance(v.get("properties"), dict) else v
        ),
    )


@at("schema", "descriptions of parameters are cut at 100 characters")
def cuts_descriptions_of_parameters(_, schema):
    return _each(
        schema,
        lambda value: (
            {**value, "description": value["description"][:100]} if isinstance(value.get("description"), str) else value
        ),
    )


@at("schema", "descriptions lose their line breaks")
def joins_lines_of_descriptions(_, schema):
    return _each(
        schema,
        lambda value: (
            {**value, "description": re.sub(r"\s+", " ", value["description"])}
            if isinstance(value.get("description"), str)
            else value
        ),
    )


@at("schema", "schemas lose what is deeper than three levels")
def flattens_schemas(_, schema, depth=3):
    if not isinstance(schema, dict):
        return schema
    inner = schema.get("properties")
    if isinstance(inner, dict):
        inner = {name: flattens_schemas(_, item, depth - 1) if depth else {} for name, item in inner.items()}
        return {**schema, "properties": inner}
    return schema


@at("schema", "letters outside of ASCII are dropped from schemas")
def keeps_ascii_of_schemas(_, schema):
    return walk(schema, texts(lambda text: text.encode("ascii", "ignore").decode()))
