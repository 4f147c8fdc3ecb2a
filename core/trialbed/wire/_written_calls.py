"""Tool calls that a model wrote as text instead of sending them, recognised by the tools on offer."""

from __future__ import annotations

import ast
import html
import json
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from trialbed.texts import json_values

# Characters of a text, and of the arguments of a call, that are read; names and values in JSON that are looked at.
LONGEST, LONGEST_CODE, MOST = 200_000, 10_000, 200

# Characters before a name that may mark a call, and behind it for the beginning of its arguments.
BEFORE, NEAR = 120, 400

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name", "next_tool_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs", "next_tool_args")
HOLDER = re.compile(r"function|(?:function|tool)_?(?:[cC]alls?|uses?)|actions?|calls?|command|params|steps")

# Forms that frameworks read wherever they stand.
FORMAL = ("marked", "json", "code", "label")

# The last keys that a call in JSON, or its holder, may have; a result behind the arguments makes it a record.
LAST = frozenset((*NAMES, *ARGUMENTS, "id", "type", "tool_call_id"))

TOOL_WORDS = r"(?:(?:next_)?tool|function)(?:_?name|[_ ]calls?)?|name|action|recipient\w*|call|invoke|to"
INPUT_WORDS = (
    r"arguments?|param(?:eter)?s?|(?:kw)?args|\w+_(?:input|arg(?:ument)?s)|(?:action[ ])?input|json|code|with|and"
)
TYPE_WORDS = r"string|str|int|integer|number|float|bool|boolean|object|array|list|dict|any|required|optional|text"
HTML = r"(?:a|abbr|b|br|code|dd|div|dt|em|font|h\d|i|kbd|li|mark|ol|p|pre|s|small|span|strong|td|th|u|ul)\b"

THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
OPENING = re.compile(r"\{\s*\"|\[\s*[{\[]")
CODE = re.compile(r"(?:```(?:python|py|tool_code|tool_call)\b|<code>\n).*?(?:```|</code>|\Z)", re.DOTALL)

# The mark before the name of a tool that is called, or before a call in JSON.
LEAD = re.compile(
    rf"""(?:
      (?P<marked><(?!(?i:{HTML})|module>)(?:[^<>\s/]{{1,40}}(?:[^\S\n][^<>]{{0,80}})?>\s*(?:print\(|\[)*  # behind a tag
      |[^<>\s]{{0,40}}|[^<>\n]{{1,80}}=\s*["']?)|\[/?[A-Z_]{{2,30}}\]\s*)  # in a tag; behind [TOKEN]
    | (?P<label>(?<![\w-])(?<!\(\{{)(?i:{TOOL_WORDS})[\\"'*\u273f\#]*\s*(?:[:=]|\#\#[ ]\]\])\s*[\\"'*`]*\s*)  # Action:
    | (?P<key>\{{\s*\\*["'])  # {{"NAME": …}}
    | (?:\A|\n|(?<!\d)[.!]\s)[ \t]*(?:await[ ]|\w*[\[(/]|(?i:calling)[ ])*(?:(?P<bracket>(?<=[\[/]))|(?P<line>\w*))
    )(?:(?:functions?|tools?|default_api|api)[.:])?\Z""",
    re.VERBOSE,
)

# The characters between a name and the bracket that holds its arguments.
GAP = re.compile(
    rf"""(?:\.(?:call|invoke|run)\b)?
    (?:<[^<>]{{1,60}}>|\[[A-Z_]{{2,30}}\]|\[?\[?[ ]?\#\#|[\s"'`,;:=|>*\]\\\d\u273f-]|\b(?i:{INPUT_WORDS})\b)*""",
    re.VERBOSE,
)

# The marks behind which anything is the input of a call.
ANY_INPUT = re.compile(r"<function=[^<>]+>|Action Input:|_args ## \]\]|argument_begin\|>")

# The name of an argument that gets a value: <city>, name="city", arg_key>city<, "city":, city=.
KEY = re.compile(
    rf"""(?:<[^<>\s]{{0,30}}key>\s*|\b(?:name|key)=["']?|parameter=|(?P<bare><))(?P<tag>[\w.-]{{1,64}})(?=["'\s>]|</)
    |(?<![\w./?&-])(?P<pair>[\w.-]{{1,64}})[\\"']*[^\S\n]*[:=](?![=/])(?!\s*[\\"'<]*(?:{TYPE_WORDS})\b)""",
    re.VERBOSE,
)

VALUE = re.compile(r"""(?:[\s"'\\>]|</?[^<>]{1,60}>|[a-z]{1,20}="[^"]{0,40}")*+([^<"'\n,}]*)""")
SCHEMA = re.compile(r'"properties"|"type"\s*:\s*"(?:object|string|integer|number)"')
PLACEHOLDER = re.compile(rf"<[^<>]*>|\.+|\u2026|\[.*\]|\{{.*\}}|(?i:{TYPE_WORDS})?", re.DOTALL)
BODY = re.compile(r"[^<\n]*")

# The name of a tool that is also common for elements and keys in other documents.
WORD = re.compile(r"[a-z]+")
CLOSED = re.compile(r"\s*(?:/>|</|<\||<\uff5c|\[[A-Z_]{2,30}\]|>\s*</)")
LINE_END = re.compile(r"[\s\])`;,]*(?:\Z|<|```)|[\])`;,]*[^\S\n]*\n|[,;]\s*\w[\w.]*\(")

# The marks that may stand between a call and the next one, or the end of the text.
END = re.compile(r"(?:[\s\\\[\](){}`;,|\"'*:=>/-]|<[^<>\n]{1,60}>|\[[A-Z_ ]{2,30}\]|(?i:print|await|json|python))*+")

# The beginning of a fenced block that has nothing but calls, in a language that models write calls in.
BLOCK = re.compile(rf"(?:python|py|tool\w*|json|xml|ya?ml|text|plaintext)?\s{END.pattern}")

DOCUMENT = re.compile(r"```|^(?:#+|from|import|def|const)[ ]", re.MULTILINE)
LABEL = re.compile(rf"\W*(?i:{TOOL_WORDS}|{INPUT_WORDS})\W*")
CONTINUED = re.compile(r"(?:</[^<>\n]{1,60}>)*+(?:,[ ]?\w|[ ][a-z])")


class WrittenCall(NamedTuple):
    """A call in a text.

    Attributes:
        arguments: as JSON if they could be read, else the written text.
        place: the index of the beginning of the call, or of its tool's name.
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
    in code, any arguments do. The definition of a tool is not a call, nor the record of one with its result. Places
    count characters after escapes of Markdown and HTML are removed.

    Args:
        schemas: tool name -> JSON Schema of its arguments.
    """
    text = re.sub(r"(?<!\\)\\_", "_", text[:LONGEST]) if "\\_" in text else text[:LONGEST]
    text = html.unescape(text) if "&lt;" in text and "<" not in text else text
    tools = {name: _properties(schema) for name, schema in schemas.items() if name and name in text}
    if not tools:
        return ()
    text = THOUGHTS.sub(lambda found: " " * len(found[0]), text)
    values = [*islice(json_values(text, OPENING), MOST)]
    found = [call for value in values for call in _in_json(text, *value, tools)]
    found += [call for call in _by_names(text, tools) if not any(a <= call.place < b for a, b, _ in values)]
    calls: list[WrittenCall] = []
    limit = len(text)
    found.sort(key=lambda call: call.place)
    for before, call in [*zip([0, *(call.end for call in found)], found, strict=False)][::-1]:
        is_made = call.is_made and (call.end >= limit or END.fullmatch(text, call.end, limit) is not None)
        if call.form == "marked" and text.count("`", 0, call.place) % 2 == 0 and not CONTINUED.match(text, call.end):
            is_made = call.is_made
        elif call.form not in ("marked", "json"):
            is_made = is_made and not _is_example(text[before : text.rfind("\n", 0, call.place) + 1])
        limit = call.place if is_made else limit
        calls.append(call._replace(is_made=is_made))
    return tuple(call for call in calls[::-1] if call.is_made or call.form in FORMAL)[:MOST]


def _is_example(before: str) -> bool:
    """Return whether an unmarked call is only an example in a document, behind a colon, or in code that does more."""
    words, fence, code = before.rpartition("```")
    does_more = fence and not BLOCK.fullmatch(code)
    words = (words if fence else code).rstrip(" \n*_")
    introduces = words.endswith((":", "\uff1a")) and not LABEL.fullmatch(words, words.rfind("\n") + 1)
    return bool(does_more or introduces or DOCUMENT.search(words))


def _properties(schema: Any) -> Collection[str]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found.keys() if isinstance(found, Mapping) else ()


def _form(text: str, place: int) -> str:
    """Return the form of a call from the mark before it, or an empty text without a mark."""
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
        elif isinstance(item, dict) and item and (HOLDER.fullmatch(last := list(item)[-1]) or last in LAST):
            for key, value in item.items():
                yield from _calls_of(value, tools, is_marked) if HOLDER.fullmatch(key) else ()


def _call_of(item: dict[str, Any], tools: Mapping[str, Collection[str]], is_marked: bool) -> tuple[str, str] | None:
    """Return the name and the arguments of the call in an object, or None if it is not a call."""
    if not item or "description" in item:
        return None
    if len(item) == 1 and (keyed := next(iter(item))) in tools:
        value = item[keyed]
        is_call = isinstance(value, dict) and value and value.keys() <= set(tools[keyed]) and not WORD.fullmatch(keyed)
        return (keyed, json.dumps(value, ensure_ascii=False)) if is_call else None
    texts = [item[key] for key in NAMES if isinstance(item.get(key), str)]
    names = [*texts, *(text.removeprefix("functions.").strip() for text in texts)]
    name = next((one for one in names if one in tools), None)
    if name is None:
        return None
    flat = {key: value for key, value in item.items() if key not in LAST}
    given = [item[key] for key in ARGUMENTS if key in item]
    if not given and flat and flat.keys() <= set(tools[name]):
        given = [flat]
    elif not (given or is_marked) or list(item)[-1] not in LAST or any(_defines(one, tools[name]) for one in given):
        return None
    value = given[0] if given else {}
    return name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _defines(value: Any, wanted: Collection[str]) -> bool:
    """Return whether arguments are a tool's schema, or the names of its arguments, with or without types."""
    if isinstance(value, list):
        return bool(value) and {*map(str, value)} <= {*wanted}
    is_schema = isinstance(value, dict) and isinstance(value.get("properties"), dict) and value.get("type") == "object"
    return is_schema or (isinstance(value, dict) and value != {} and not _argument_names(value))


def _by_names(text: str, tools: Mapping[str, Collection[str]]) -> Iterator[WrittenCall]:
    names = sorted(tools, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    is_list = text.strip().startswith("[") and text.strip().endswith(")]")
    spans = [(0, len(text))] if is_list else [one.span() for one in CODE.finditer(text)]
    last: WrittenCall | None = None
    for match in islice(pattern.finditer(text), MOST):
        form, start = _form(text, match.start()), match.start()
        if not form and last and last.is_made and END.fullmatch(text, last.end, start):
            form = last.form
        is_code = any(a <= start < b for a, b in spans) and not text.endswith("def ", 0, start)
        is_element = text.endswith("<", 0, start) and WORD.fullmatch(match[0])
        is_call = (form or is_code) and not is_element
        found = _arguments(text, match, tools[match[0]], form, is_code) if is_call else None
        if found is not None:
            last = WrittenCall(match[0], *found, "code" if is_code and form != "marked" else form, bool(form))
            yield last


def _arguments(
    text: str, name: re.Match[str], wanted: Collection[str], form: str, is_code: bool
) -> tuple[str, int, int] | None:
    """Return the arguments behind a name, their index and the index of their end; None if it is not called."""
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
    wanted = {key for _, key, _, _ in _keys(near)} if of_input else wanted
    found = _pairs(near, name.re.split(near, maxsplit=1)[0], wanted, form)
    return None if found is None else (json.dumps(found[0], ensure_ascii=False), start, end + found[1])


def _pairs(near: str, own: str, wanted: Collection[str], form: str) -> tuple[dict[str, str], int] | None:
    """Return the arguments that follow a name in tags, lines or words, and their end. Returns None without any.

    Args:
        own: the text before the next name of a tool.
    """
    if not wanted and form == "marked" and CLOSED.match(near):
        return {}, 0
    block = near if form == "marked" else re.split(r"\n\s*\n|\}" if form == "label" else "\n", near)[0]
    found = [one for one in _keys(near) if one[0] != "pair" or one[3] <= len(block)]
    elements = {key for kind, key, _, _ in _keys(own) if kind == "element"}
    is_record = not elements.isdisjoint(wanted) and not elements <= {*wanted, *LAST}
    pairs = {key for kind, key, _, _ in found if kind == "pair"}
    is_block = form == "bracket" or (form == "label" and near.startswith("\n"))
    is_call = form == "marked" or (is_block and pairs <= {*wanted, *LAST})
    # The first value counts: the next call may follow.
    right = {key: value for kind, key, value, _ in found[::-1] if key in wanted and (kind != "pair" or is_call)}
    return (right, max(end for _, _, _, end in found)) if right and not is_record else None


def _keys(text: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield form, name, value and its end for each name with a value in a text; an empty tag has no value."""
    for found in KEY.finditer(text):
        if not found["bare"] or f"</{found['tag']}" in text[found.end() :]:
            form, value = "element" if found["bare"] else str(found.lastgroup), VALUE.match(text, found.end())
            # VALUE matches the empty text, and a group of KEY has always matched.
            yield form, found[str(found.lastgroup)], value[1].strip(), value.end()  # type: ignore[index,union-attr]


def _argument_names(value: Mapping[str, Any]) -> list[str]:
    """Return the names with values other than placeholders, which documentation has."""
    return [key for key, one in value.items() if not (isinstance(one, str) and PLACEHOLDER.fullmatch(one))]


def _in_brackets(code: str) -> str:
    """Return the code from its opening bracket to the closing one; its first line if that is missing."""
    depth = 0
    for match in re.finditer(r"[()\[\]{}]", code):
        depth += 1 if match[0] in "([{" else -1
        if depth == 0:
            return code[: match.end()]
    return BODY.match(code)[0]  # type: ignore[index]


def _value(code: str) -> Any:
    """Return the arguments in brackets as a value, in JSON, escaped JSON or Python; None if they cannot be read."""
    inner = code[1:].lstrip() if code.startswith("(") else code
    for text in (inner, inner.replace('\\"', '"')) if inner.startswith("{") else ():
        with suppress(ValueError, RecursionError):
            return json.JSONDecoder().raw_decode(text)[0]
    with warnings.catch_warnings(), suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        # Of strange escapes in strings, for example.
        warnings.simplefilter("ignore")
        call = ast.parse(f"_{code}", mode="eval").body
        if isinstance(call, ast.Call) and not call.args:
            named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            return {**named.pop(None, {}), **named}  # None names a mapping behind two stars
    return None
