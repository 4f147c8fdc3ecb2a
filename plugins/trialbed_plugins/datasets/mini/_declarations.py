"""The form of the embedded data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trialbed.records import Json, Record

SHOP = "shop"
"""The test set whose queries order from a shop."""

Operator = Literal["=", ">=", "<=", "contains", "in", "all"]


class TableFile(Record):
    """One table.

    Attributes:
        noun: names a row in error texts (``no city named 'X'``).
        key: the column that identifies a row.
        references: column -> table whose key it holds.
    """

    noun: str
    key: str
    references: dict[str, str] = Field(default_factory=dict)
    rows: tuple[dict[str, Json], ...]


class Select(Record):
    """Selects the rows of a table that an Api reads.

    Attributes:
        where: ``column operator value``; a value is a parameter or, where the parameter is looked up, a path
            from its row (``city.city_id``). A condition on a parameter that was left out does not apply.
        order: the column to sort by, with ``-`` in front for descending; else the table's order.
        limit: the parameter that bounds the number of rows.
        key: names the list of rows in the response; empty: the table's name.
        first: whether the response is the first row itself; none is an API error.
    """

    table: str
    where: tuple[str, ...] = ()
    order: str = ""
    limit: str = ""
    key: str = ""
    first: bool = False


class Product(Record):
    """A computed figure: the product of ``factors`` over that of ``over``, rounded to ``digits`` decimals."""

    factors: tuple[str, ...]
    over: tuple[str, ...] = ()
    digits: int = 2


class Endpoint(Record):
    """Declares the answers of an Api.

    Attributes:
        lookups: parameter -> ``table.column``: the row that the parameter names; none is an API error.
        minimum: parameter -> least value allowed.
        source: the looked-up parameter whose row the ``columns`` are read from, if no rows are selected.
        columns: paths from the row, through references, as ``path`` or ``path as key``.
        compute: key -> figure, added to the response.
    """

    lookups: dict[str, str] = Field(default_factory=dict)
    minimum: dict[str, float] = Field(default_factory=dict)
    select: Select | None = None
    source: str = ""
    columns: tuple[str, ...] = ()
    compute: dict[str, Product] = Field(default_factory=dict)
