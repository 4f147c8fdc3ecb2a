"""Tool calls that a model wrote as text instead of sending them, recognised by the tools on offer."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from trialbed.texts import json_values

LONGEST = 200_000
"""Characters of a text that are read."""

LONGEST_CODE = 10_000
"""Characters of the arguments of a call."""

MOST = 200
"""Names, and values in JSON, that are looked at in one text."""

BEFORE, NEAR = 120, 400
"""Characters before a name that may mark a call, and behind it in which its arguments begin."""

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name", "next_tool_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs", "next_tool_args")
HOLDERS = ("function", "tool_calls", "tool_uses", "calls", "actions")
FORMAL = ("marked", "json", "code", "label")
"""Forms that frameworks read wherever they stand."""

LAST = frozenset((*NAMES, *ARGUMENTS, "id", "type", "tool_call_id"))
"""Keys with which a call in JSON may end; a result behind the arguments makes it a record."""

TOOL_WORDS = (
    r"(?:next_)?tool(?:_?name|[_ ]calls?)?|function(?:_?name|[_ ]call)?|name|action|recipient\w*|call|invoke|to"
)
INPUT_WORDS = (
    r"arguments?|parameters?|params?|args|kwargs|\w+_(?:input|args|arguments)|(?:action[ ])?input|json|code|with|and"
)
TYPE_WORDS = r"string|str|int|integer|number|float|bool|boolean|object|array|list|dict|any|required|optional|text"
HTML = r"(?:a|abbr|b|br|code|dd|div|dt|em|font|h\d|i|kbd|li|mark|ol|p|pre|s|small|span|strong|td|th|u|ul)\b"

THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
OPENING = re.compile(r"\{\s*\"|\[\s*[{\[]")
BRACKET = re.compile(r"[()\[\]{}]")
CODE = re.compile(r"```(?:python|py|tool_code|tool_call)\b.*?(?:```|\Z)", re.DOTALL)
LEAD = re.compile(
    rf"""(?:
      (?P<marked><(?!(?i:{HTML}))(?:[^<>\s/]{{1,40}}(?:[^\S\n][^<>]{{0,80}})?>\s*(?:print\(|\[)*  # behind a tag
      |[^<>\s]{{0,40}}|[^<>\n]{{1,80}}=\s*["']?)|\[/?[A-Z_]{{2,30}}\]\s*)  # in a tag; behind [TOKEN]
    | (?P<label>(?<![\w-])(?i:{TOOL_WORDS})[\\"'*\u273f\#]*\s*(?:[:=]|\#\#[ ]\]\])\s*[\\"'*`]*\s*)  # Action: NAME
    | (?P<key>\{{\s*\\*["'])  # {{"NAME": …}}
    | (?:\A|\n|[.!]\s)[ \t]*(?:await[ ]|\w*[\[(/]|(?i:calling)[ ])*(?:(?P<bracket>(?<=[\[/]))|(?P<line>\w*))  # a line
    )(?:(?:functions?|tools?|default_api|api)[.:])?\Z""",
    re.VERBOSE,
)
"""The mark before the name of a tool that is called, or before a call in JSON."""

GAP = re.compile(
    rf"""(?:\.(?:call|invoke|run)\b)?
    (?:<[^<>]{{1,60}}>|\[[A-Z_]{{2,30}}\]|\[?\[?[ ]?\#\#|[\s"'`,;:=|>*\]\\\d\u273f-]|\b(?i:{INPUT_WORDS})\b)*""",
    re.VERBOSE,
)
"""The characters between a name and the bracket that holds its arguments."""

ANY_INPUT = re.compile(r"<function=[^<>]+>|Action Input:|_args ## \]\]|argument_begin\|>")
"""The marks behind which anything is the input of a call."""

KEY = re.compile(
    rf"""(?:<[^<>\s]{{0,30}}key>\s*|\b(?:name|key)=["']?|parameter=|(?P<bare><))(?P<tag>[\w.-]{{1,64}})(?=["'\s>]|</)
    |(?<![\w./?&-])(?P<pair>[\w.-]{{1,64}})[\\"']*[^\S\n]*[:=](?![=/])(?!\s*[\\"'<]*(?:{TYPE_WORDS})\b)""",
    re.VERBOSE,
)
"""The name of an argument that gets a value: <city>, name="city", arg_key>city<, "city":, city=."""

VALUE = re.compile(r"""(?:[\s"'\\>]|</?[^<>]{1,60}>|[a-z]{1,20}="[^"]{0,40}")*+([^<"'\n,}]*)""")
SCHEMA = re.compile(r'"properties"|"type"\s*:\s*"(?:object|string|integer|number)"')
PLACEHOLDER = re.compile(rf"<[^<>]*>|\.+|\u2026|\[.*\]|\{{.*\}}|(?i:{TYPE_WORDS})?", re.DOTALL)
BODY = re.compile(r"[^<\n]*")
CLOSED = re.compile(r"\s*(?:/>|</|<\||<\uff5c|\[[A-Z_]{2,30}\]|>\s*</)")
LINE_END = re.compile(r"[\s\])`;,]*(?:\Z|<|```)|[\])`;,]*[^\S\n]*\n")
END = re.compile(r"(?:[\s\\\[\](){}`;,|\"'*:=>/-]|<[^<>\n]{1,60}>|\[[A-Z_ ]{2,30}\]|(?i:print|await|json|python))*+")
"""The marks that may stand between a call and the next one, or the end of the text."""


class WrittenCall(NamedTuple):
    """A call in a text.

    Attributes:
        arguments: as JSON if they could be read, else as they are written.
        place: the index at which the call, or the name of its tool, begins.
        end: the index behind it.
        form: ``marked`` behind a tag or a token, ``json``, ``code`` in a fence, ``label`` such as ``Action:``; else
            ``key`` of an object, ``bracket`` or ``line``.
        is_made: whether it is marked, or ends the text but for other calls; else the text speaks of a call.
    """

    name: str
    arguments: str
    place: int
    end: int
    form: str
    is_made: bool


def written_calls(text: str, schemas: Mapping[str, Any]) -> tuple[WrittenCall, ...]:
    """Return the calls of these tools that a text contains in any form, in order; thoughts in ``<think>`` are skipped.

    A call is the name of a tool with a mark before it, and with its arguments, by their names, behind it; in JSON and
    in code, any arguments do. The definition of a tool is not a call, nor the record of one with its result.

    Args:
        schemas: tool name -> JSON Schema of its arguments.
    """
    tools = {name: _properties(schema) for name, schema in schemas.items() if name and name in text}
    if not tools:
        return ()
    text = THOUGHTS.sub(lambda found: " " * len(found[0]), text[:LONGEST])
    values = [*islice(json_values(text, OPENING), MOST)]
    found = [call for value in values for call in _in_json(text, *value, tools)]
    found += [call for call in _by_names(text, tools) if not any(a <= call.place < b for a, b, _ in values)]
    calls: list[WrittenCall] = []
    limit = len(text)
    for call in sorted(found, key=lambda call: call.place)[::-1]:
        is_last = call.end >= limit or END.fullmatch(text, call.end, limit) is not None
        is_quoted = text.count("`", 0, call.place) % 2 == 1
        is_made = call.is_made and (is_last or (call.form == "marked" and not is_quoted))
        limit = call.place if is_made else limit
        if is_made or call.form in FORMAL:
            calls.append(call._replace(is_made=is_made))
    return tuple(calls[::-1][:MOST])


def _properties(schema: Any) -> Collection[str]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found.keys() if isinstance(found, Mapping) else ()


def _form(text: str, place: int) -> str:
    """Return the form that the mark before a place gives to a call; empty if there is none."""
    lead = LEAD.search(text, max(0, place - BEFORE), place)
    if lead is None or lead["marked"] is not None:
        return lead.lastgroup or "" if lead else ""
    # A tag may stand before a label or a bracket.
    outer = LEAD.search(text[max(0, lead.start() - BEFORE) : lead.start()].rstrip("[{'\"\\ \n"))
    return "marked" if outer is not None and outer["marked"] is not None else lead.lastgroup or ""


def _in_json(
    text: str, start: int, end: int, value: Any, tools: Mapping[str, Collection[str]]
) -> Iterator[WrittenCall]:
    form = _form(text, start)
    for name, arguments in _calls_of(value, tools, form == "marked"):
        yield WrittenCall(name, arguments, start, end, form if form == "marked" else "json", bool(form))


def _calls_of(value: Any, tools: Mapping[str, Collection[str]], is_marked: bool) -> Iterator[tuple[str, str]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and (call := _call_of(item, tools, is_marked)):
            yield call
        elif isinstance(item, dict):
            for key in HOLDERS:
                yield from _calls_of(item.get(key), tools, is_marked)


def _call_of(item: dict[str, Any], tools: Mapping[str, Collection[str]], is_marked: bool) -> tuple[str, str] | None:
    """Return the name and the arguments of the call that an object is; None if it is not a call."""
    if not item or "description" in item:
        return None
    if len(item) == 1 and (keyed := next(iter(item))) in tools:
        value = item[keyed]
        is_call = isinstance(value, dict) and value and value.keys() <= set(tools[keyed])
        return (keyed, json.dumps(value, ensure_ascii=False)) if is_call else None
    named = (_offered_name(item[key], tools) for key in NAMES if isinstance(item.get(key), str))
    name = next(filter(None, named), None)
    if name is None:
        return None
    flat = {key: value for key, value in item.items() if key not in LAST}
    given = [item[key] for key in ARGUMENTS if key in item]
    if not given and flat and flat.keys() <= set(tools[name]):
        given = [flat]
    elif not (given or is_marked) or list(item)[-1] not in LAST or any(map(_is_schema, given)):
        return None
    value = given[0] if given else {}
    return name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("properties"), dict) and value.get("type") == "object"


def _offered_name(name: str, names: Collection[str]) -> str | None:
    """Return the tool of this name, with or without the namespace that models are taught to write."""
    bare = name.removeprefix("functions.").strip()
    return name if name in names else bare if bare in names else None


def _by_names(text: str, tools: Mapping[str, Collection[str]]) -> Iterator[WrittenCall]:
    names = sorted(tools, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    is_list = text.strip().startswith("[") and text.strip().endswith(")]")
    spans = [(0, len(text))] if is_list else [one.span() for one in CODE.finditer(text)]
    for match in islice(pattern.finditer(text), MOST):
        form, start = _form(text, match.start()), match.start()
        is_code = any(a <= start < b for a, b in spans) and not text.endswith("def ", 0, start)
        found = _arguments(text, match, tools[match[0]], form, is_code) if form or is_code else None
        if found is not None:
            yield WrittenCall(match[0], *found, "code" if is_code and form != "marked" else form, bool(form))


def _arguments(
    text: str, name: re.Match[str], wanted: Collection[str], form: str, is_code: bool
) -> tuple[str, int, int] | None:
    """Return the arguments behind a name, its index, and that of their end; None if it is not called."""
    start, end = name.span()
    near = text[end : end + NEAR]
    if SCHEMA.search(near, 0, 160) or ("description" in near[:160] and "description" not in wanted):
        return None
    gap = GAP.match(near)[0]  # type: ignore[index]
    begin = end + len(gap)
    of_input = ANY_INPUT.search(text, max(0, start - len("<function=")), begin) if form else None
    opening = text[begin : begin + 1]
    if opening == "{" or (opening == "(" and gap in ("", ".call", ".invoke", ".run")):
        code = _in_brackets(text[begin : begin + LONGEST_CODE])
        end, value = begin + len(code), _value(code)
        is_read = isinstance(value, dict)
        given = _argument_names(value) if is_read else [key for _, key, _, _ in _keys(code[:NEAR])]
        right = [key for key in given if key in wanted]
        is_alone = len(right) == len(given) and (opening == "{" or LINE_END.match(text, end) is not None)
        is_empty = value == {} and not wanted and form != "key"
        if of_input or (is_code and opening == "(") or ((form == "marked" or is_alone) and (right or is_empty)):
            raw = code[1:-1] if opening == "(" else code.strip()
            return json.dumps(value, ensure_ascii=False) if is_read else raw, start, end
        return None
    if of_input and (body := BODY.match(text, of_input.end())) and body[0].strip():
        return body[0].strip(), start, body.end()
    found = _pairs(near, {key for _, key, _, _ in _keys(near)} if of_input else wanted, form)
    return None if found is None else (json.dumps(found[0], ensure_ascii=False), start, end + found[1])


def _pairs(near: str, wanted: Collection[str], form: str) -> tuple[dict[str, str], int] | None:
    """Return the arguments behind a name that stand in tags, lines or words, and their end; None if there are none."""
    if not wanted and form == "marked" and CLOSED.match(near):
        return {}, 0
    block = near if form == "marked" else re.split(r"\n\s*\n|\}" if form == "label" else "\n", near)[0]
    found = [one for one in _keys(near) if one[0] == "tag" or one[3] <= len(block)]
    pairs = {key for kind, key, _, _ in found if kind == "pair"}
    is_block = form == "bracket" or (form == "label" and near.startswith("\n"))
    is_call = form == "marked" or (is_block and pairs <= {*wanted, *LAST})
    right = {key: value for kind, key, value, _ in found if key in wanted and (kind == "tag" or is_call)}
    return (right, max(end for _, _, _, end in found)) if right else None


def _keys(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield the names that get a value in a text: form, name, value and its end; an empty tag has none."""
    for found in KEY.finditer(text):
        if not found["bare"] or f"</{found['tag']}" in text:
            form, value = "tag" if found["tag"] else "pair", VALUE.match(text, found.end())
            yield form, found[form], value[1].strip(), value.end()  # type: ignore[index,union-attr]


def _argument_names(value: Mapping[str, Any]) -> list[str]:
    """Return the names whose values are not placeholders, as in documentation."""
    return [key for key, one in value.items() if not (isinstance(one, str) and PLACEHOLDER.fullmatch(one))]


def _in_brackets(code: str) -> str:
    """Return the code from its opening bracket to the closing one; its first line if that is missing."""
    depth = 0
    for match in BRACKET.finditer(code):
        depth += 1 if match[0] in "([{" else -1
        if depth == 0:
            return code[: match.end()]
    return BODY.match(code)[0]  # type: ignore[index]


def _value(code: str) -> Any:
    """Return the arguments in brackets as a value, in JSON, escaped JSON or Python; None if they cannot be read."""
    inner = code[1:].lstrip() if code.startswith("(") else code
    for text in (inner, inner.replace('\\"', '"')) if inner.startswith("{") else ():
        try:
            return json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            continue
    try:
        with warnings.catch_warnings():
            # Of strange escapes in strings, for example.
            warnings.simplefilter("ignore")
            call = ast.parse(f"_{code}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args and all(keyword.arg for keyword in call.keywords):
            return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    return None
