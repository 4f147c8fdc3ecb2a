"""The values of a vendor's entry in a configuration file, key by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

STRICT = ConfigDict(strict=True, allow_inf_nan=False)


class EntryValue(NamedTuple):
    """The values that a key may have: their type, and what they must be, in words."""

    kind: Any
    words: str

    def check(self, value: Any) -> Any:
        """Return the value.

        Raises:
            ValueError: it is not of the kind; the message says what it must be, and does not show it.
        """
        try:
            return TypeAdapter(self.kind, config=STRICT).validate_python(value)
        except ValidationError:
            raise ValueError(self.words) from None


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError
    return text


Amount = Annotated[float, Field(ge=0)]
Line = Annotated[str, AfterValidator(_printable)]
Prices = Annotated[dict[Literal["input", "output"], Amount], Field(min_length=1)]

TEXT = EntryValue(str, "a string")
TRUTH = EntryValue(bool, "true or false")
COUNT = EntryValue(Annotated[int, Field(ge=1)], "a whole number of at least 1")

FIELDS: Mapping[str, EntryValue] = {
    "name": TEXT,
    "model_id": TEXT,
    "api_key": TEXT,
    "provider": TEXT,
    "url": TEXT,
    "validator": EntryValue(Literal["openai"], "one of openai"),
    "is_baseline": TRUTH,
    "trials": COUNT,
    "concurrency": COUNT,
    "temperature": EntryValue(Amount, "a number of at least 0"),
    "max_tokens": COUNT,
    "stream": TRUTH,
    "extra_body": EntryValue(dict[str, JsonValue], "a mapping of what JSON can hold, with strings as keys"),
    "headers": EntryValue(dict[Line, Line], "a mapping of header names to strings of one line"),
    "prices": EntryValue(Prices, "a mapping with input and output: numbers of at least 0, per million tokens"),
}
"""Keys of a vendor's entry -> their values."""
