"""The suite *schema-torture*: whether hard schemas reach the model, and hard arguments come back, unharmed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed_verify.suites._catalog import choose_tools
from trialbed_verify.suites._suite import Line, Suite, calls_answer, function, line, user

NAME = "schema-torture"


def _cases() -> Iterator[Line]:
    chance = random.Random(NAME)  # noqa: S311 - shall be the same again
    for number, schema in enumerate(hard_schemas(), 1):
        yield _case(number, schema, chance)


def _case(number: int, schema: HardSchema, chance: random.Random) -> Line:
    arguments = json.dumps(schema.arguments, ensure_ascii=False)
    tools = [function(schema.name, schema.description, schema.parameters), *choose_tools(chance, 3)]
    chance.shuffle(tools)
    return line(
        NAME,
        f"{number:03d}-{schema.name}",
        [user(f"Call the tool {schema.name} once, with exactly these arguments, unchanged: {arguments}")],
        tools=tools,
        expect={"calls": True, "tool": [schema.name], "arguments": schema.arguments},
        by={"stresses": schema.stresses},
        answer=calls_answer((schema.name, schema.arguments)),
    )


SUITE = Suite(
    NAME, "whether a hundred hard schemas, and arguments for them, survive the way to the model and back", 100, _cases
)
