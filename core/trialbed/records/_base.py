"""The base of all records."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

Json = Any
"""A JSON value, which is None, bool, int, float, str, list or dict with str keys."""


class Record(BaseModel):
    """A frozen value that can be written as JSON and read back unchanged; unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class SparseRecord(Record):
    """A record that is written without some of its fields if they have their defaults.

    So the digests of data from before these fields are still valid.

    Attributes:
        sparse: the names of these fields.
    """

    sparse: ClassVar[tuple[str, ...]]

    @model_serializer(mode="wrap")
    def _leave_out_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        unset = {name for name in self.sparse if getattr(self, name) == fields[name].default}
        return {name: value for name, value in serialize(self).items() if name not in unset}
