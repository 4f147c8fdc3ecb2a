"""The leaderboard's cases as queries, their dataset driver, and the world of cases with several turns."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from trialbed.contracts import ApiRefused, DatasetDriver, Simulation, Simulator, World
from trialbed.errors import DataError, UsageError
from trialbed.files import read_text
from trialbed.records import Api, ApiRef, GoldCall, Json, Parameter, Query, UserTurn
from trialbed_plugins.datasets._queries import ListedDataset
from trialbed_plugins.datasets.bfcl._checker import LANGUAGES, Call, Language
from trialbed_plugins.datasets.bfcl._objects import MODULES, CaseObjects, object_class, right_call, text_of

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "simple_java",
    "simple_javascript",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
"""The test sets with one turn. The first is the default."""

TURNS = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
"""The test sets with several turns."""

CATEGORY = "BFCL"
"""The category of all functions. Their APIs have no tool, so models see the leaderboard's own names."""

TYPES = {"tuple": "ARRAY", "any": "STRING"}
"""Maps the leaderboard's types to the dataset's words if these differ."""

CONSTRAINTS = ("items", "properties", "required", "format", "minimum", "maximum")
"""Keywords of a parameter's schema beyond type and values. They are added to the description."""


def data_folder() -> Path | None:
    """Return the data folder of the installed wheel, if it is installed."""
    spec = find_spec("bfcl_eval")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "data").is_dir():
            return Path(place) / "data"
    return None


@lru_cache(maxsize=4)
def read_rows(folder: Path, category: str) -> dict[str, dict[str, Any]]:
    """Return the cases of a test set by id, with their ``answers``.

    Raises:
        DataError: a file cannot be read, or has another format; the message names it.
    """
    name = f"BFCL_v4_{category}.json"
    rows = {row["id"]: row for row in read_lines(folder / name)}
    answers = folder / "possible_answer" / name
    if answers.is_file():
        for row in read_lines(answers):
            rows[row["id"]]["answers"] = row["ground_truth"]
    return rows


def has_functions(row: Mapping[str, Any]) -> bool:
    """Return whether a case offers all functions that its answers call. One release contained a case that did not."""
    offered = {function["name"] for function in row["function"]}
    return all(offered.issuperset(answer) for answer in row.get("answers", ()))


def query_of(row: Mapping[str, Any]) -> Query:
    """Convert a case to a query. Its expected calls have the first of the right values."""
    language = LANGUAGES.get(row["id"].rpartition("_")[0])
    functions = {function["name"]: function for function in row["function"]}
    return Query(
        query_id=row["id"],
        text="\n\n".join(message["content"] for turn in row["question"] for message in turn),
        apis=tuple(api_of(function, language) for function in functions.values()),
        gold_calls=tuple(
            GoldCall(api=ref_of(name), arguments=_first_arguments(values, functions[name], language))
            for answer in row.get("answers", ())
            for name, values in answer.items()
        ),
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects in a file with one JSON object per line.

    Raises:
        DataError: the file cannot be read.
    """
    try:
        return [json.loads(line) for line in read_text(path).splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def ref_of(name: str) -> ApiRef:
    return ApiRef(category=CATEGORY, tool_name="", api_name=name)


def api_of(function: Mapping[str, Any], language: Language | None = None) -> Api:
    """Convert a function to an API.

    Args:
        language: the language of its values, if it is not Python.
    """
    describe = language.parameter if language else _parameter
    schema = function["parameters"]
    required = set(schema.get("required", ()))
    parameters = {name: describe(name, about) for name, about in schema["properties"].items()}
    return Api(
        **ref_of(function["name"]).model_dump(),
        description=function.get("description", "") + (language.hint if language else ""),
        required_parameters=tuple(item for name, item in parameters.items() if name in required),
        optional_parameters=tuple(item for name, item in parameters.items() if name not in required),
    )


def _parameter(name: str, about: Mapping[str, Any]) -> Parameter:
    description = str(about.get("description", ""))
    inside = {key: about[key] for key in CONSTRAINTS if key in about}
    if inside:  # a parameter's record has no field for it
        description = f"{description} Schema: {json.dumps(inside, ensure_ascii=False)}".strip()
    return Parameter(
        name=name,
        type=TYPES.get(about["type"], about["type"].upper()),
        description=description,
        default=about.get("default"),
        enum=tuple(about.get("enum", ())),
    )


def _first_arguments(
    values: Mapping[str, Sequence[Any]], function: Mapping[str, Any], language: Language | None
) -> dict[str, Any]:
    properties = function["parameters"]["properties"]
    chosen = {name: _first(options, properties.get(name, {})) for name, options in values.items()}
    found = {name: value for name, value in chosen.items() if value is not None}
    return {name: language.source(value, properties[name]) for name, value in found.items()} if language else found


def _first(options: Sequence[Any], about: Mapping[str, Any]) -> Any:
    """Return the first right value, or None if the parameter is to be omitted."""
    option = next((option for option in options if option != ""), None)
    if isinstance(option, dict):
        return _first_fields(option)
    if isinstance(option, list) and about.get("items", {}).get("type") == "dict":
        return [_first_fields(item) if isinstance(item, dict) else item for item in option]
    return option


def _first_fields(option: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: next((one for one in values if one != ""), None) for name, values in option.items()}
    return {name: value for name, value in fields.items() if value is not None}


USE = "bfcl_use_function"
"""An API outside all classes, which calls a function that came with a later request."""

MORE = "I have updated some more functions you can choose from. What about now?"
"""The leaderboard's message when functions come later."""

HOW = f"Call them with {USE}:"

Row = Mapping[str, Any]


def with_functions(folder: Path, rows: Mapping[str, Row]) -> dict[str, dict[str, Any]]:
    """Return the cases of a test set with several turns, with the functions of their classes.

    ``function`` has the functions of the first request, ``later`` the functions that come with a turn.

    Raises:
        DataError: a file cannot be read.
    """
    documents = {
        name: read_lines(folder / "multi_turn_func_doc" / f"{module}.json")
        for name, module in MODULES.items()
        if any(name in row["involved_classes"] for row in rows.values())
    }
    return {number: {**row, **_functions(row, documents)} for number, row in rows.items()}


def _functions(row: Row, documents: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    left_out = set(row.get("excluded_function", ()))
    known = {
        function["name"]: function
        for name in row["involved_classes"]
        for function in documents[name]
        if function["name"] not in left_out
    }
    later = {
        turn: [known.pop(name) for name in names if name in known]
        for turn, names in row.get("missed_function", {}).items()
    }
    return {"function": list(known.values()), "later": later}


def start_of(row: Row) -> dict[str, Any]:
    return {
        "classes": list(row["involved_classes"]),
        "config": row["initial_config"],
        "long_context": "long_context" in row["id"],
    }


def turns_query_of(row: Row) -> Query:
    """Convert a case with several turns to a query, with the right calls for each request."""
    later = [function for functions in row["later"].values() for function in functions]
    right = [[*_gold_calls(row, turn, later)] for turn in row.get("answers", ())]
    counts = [*map(len, right), *[0] * len(row["question"])]
    turns = [UserTurn(text=text, calls=count) for text, count in zip(_requests(row), counts, strict=False)]
    apis = [*map(api_of, row["function"]), *([USE_API] if later else [])]
    return Query(
        query_id=row["id"],
        text=turns[0].text,
        apis=tuple(apis),
        gold_calls=tuple(chain.from_iterable(right)),
        turns=tuple(turns),
        initial_state=start_of(row),
    )


def _requests(row: Row) -> Iterator[str]:
    for place, turn in enumerate(row["question"]):
        text = "\n".join(message["content"] for message in turn)
        functions = row["later"].get(str(place))
        if functions:
            text = "\n\n".join((*filter(None, [text]), MORE, HOW, json.dumps(functions, ensure_ascii=False)))
        yield text


def _gold_calls(row: Row, turn: Sequence[str], later: Sequence[Row]) -> Iterator[GoldCall]:
    here = {function["name"]: function for function in row["function"]}
    there = {function["name"]: function for function in later}
    for name, named, given in map(right_call, turn):
        arguments = _name_arguments((here | there)[name], given, named)
        if name in here:
            yield GoldCall(api=ref_of(name), arguments=arguments)
        else:
            yield GoldCall(api=USE_API.ref, arguments={"function": name, "arguments": arguments})


def _name_arguments(function: Row, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    return dict(zip(function["parameters"]["properties"], given, strict=False)) | dict(named)


def _api(name: str, description: str, *parameters: Parameter) -> Api:
    ref: ApiRef = ref_of(name)
    return Api(**ref.model_dump(), description=description, required_parameters=parameters)


USE_API = _api(
    USE,
    "Calls a function that the user has described in a request.",
    Parameter(name="function", description="the function's name"),
    Parameter(name="arguments", type="DICT", description="its arguments by name"),
)


def function_called(name: str, arguments: Mapping[str, Any]) -> Call:
    """Return the function that a call means. For ``bfcl_use_function``, this is the one in its arguments."""
    if name != USE:
        return name, arguments
    function, given = arguments.get("function"), arguments.get("arguments")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return name, arguments
    return (function, given) if isinstance(function, str) and isinstance(given, dict) else (name, arguments)


NAME = "bfcl"
HOW_TO = "`pip install --no-deps bfcl-eval` brings its data"
OLDEST = "2025.10.27"
"""The first release of the wheel with these files."""

LOG = logging.getLogger("trialbed.engine")


class BfclDriver(DatasetDriver):
    """Test sets of the Berkeley Function-Calling Leaderboard, from the wheel ``bfcl-eval``."""

    description: ClassVar[str] = "the Berkeley Function-Calling Leaderboard's cases; needs `bfcl-eval`"

    def test_sets(self, data_dir: Path) -> Sequence[str]:  # noqa: ARG002 - the data are in a wheel
        """Return the test sets of the installed wheel."""
        folder = data_folder()
        known = (*CATEGORIES, *TURNS) if folder is not None else ()
        return [name for name in known if folder and (folder / f"BFCL_v4_{name}.json").is_file()]

    def open(self, test_set: str | None, data_dir: Path) -> ListedDataset:
        """Return a test set; the first one by default.

        Raises:
            UsageError: it does not exist; the message lists the test sets.
            DataError: a file of the wheel is damaged.
        """
        folder, found = data_folder(), self.test_sets(data_dir)
        if folder is None:
            raise UsageError(f"the dataset {NAME!r} is not installed; {HOW_TO}")
        if not found:
            raise UsageError(f"the installed bfcl-eval has other files than {OLDEST} and later; {HOW_TO}")
        name = test_set or found[0]
        if name not in found:
            raise UsageError(f"the dataset {NAME!r} has no test set {name!r}; it has {', '.join(found)}")
        rows = read_rows(folder, name)
        if name not in TURNS:
            whole = {case: row for case, row in rows.items() if has_functions(row)}
            if odd := sorted(rows.keys() - whole.keys()):
                LOG.warning("bfcl: skipped, as the answers call functions that the cases lack: %s", ", ".join(odd))
            return ListedDataset(NAME, name, [query_of(row) for row in whole.values()])
        for needed in {each for row in rows.values() for each in row["involved_classes"]}:
            object_class(needed)
        dataset = ListedDataset(NAME, name, [turns_query_of(row) for row in with_functions(folder, rows).values()])
        dataset.simulator = NAME
        return dataset


class CaseWorld(World):
    """The objects of one case. They receive the model's arguments unchecked, like in the leaderboard.

    Args:
        start: their initial state.
    """

    checked: ClassVar[bool] = False

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._objects = CaseObjects(start)

    def call(self, api: Api, arguments: Mapping[str, Json]) -> Json:
        result = self._objects.call(*function_called(api.api_name, arguments))
        if isinstance(result, str) and result.startswith("Error during execution:"):
            raise ApiRefused(result)
        text = text_of(result)
        try:
            value: Json = json.loads(text) if isinstance(result, dict) else text
        except ValueError:
            return text
        return value

    def state(self) -> Json:
        return self._objects.state()


class BfclSimulator(Simulator):
    """Gives each trial the objects of its case."""

    provenance: ClassVar[str] = NAME
    invented: ClassVar[bool] = True

    def world_from(self, state: Json) -> CaseWorld | None:
        """Return the objects in the initial state of a case with several turns."""
        return CaseWorld(state) if isinstance(state, dict) else None

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:  # noqa: ARG002
        """Refuse the call, since objects only exist in a trial."""
        return Simulation(error=f"{ref}: this tool belongs to a trial; its objects exist in one only")
