"""The format of the embedded data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trialbed.records import Json, Record

SHOP = "shop"
"""The test set with orders from a shop."""

Operator = Literal["=", ">=", "<=", "contains", "in", "all"]


class TableFile(Record):
    """One table.

    Attributes:
        noun: names a row in error texts (``no city named 'X'``).
        key: the column that identifies a row.
        references: maps columns to the tables with the referenced keys.
    """

    noun: str
    key: str
    references: dict[str, str] = Field(default_factory=dict)
    rows: tuple[dict[str, Json], ...]


class Select(Record):
    """Selects the rows of a table for an API.

    Attributes:
        where: ``column operator value``. The value is a parameter or, if the parameter is looked up, a path from its
            row (``city.city_id``). Conditions on missing parameters do not apply.
        order: the column to sort by, with a ``-`` prefix for descending order; the table's order by default.
        limit: the parameter that bounds the number of rows.
        key: names the list of rows in the response; the table's name by default.
        first: responds with the first row alone. A missing row is an API error.
    """

    table: str
    where: tuple[str, ...] = ()
    order: str = ""
    limit: str = ""
    key: str = ""
    first: bool = False


class Product(Record):
    """The product of ``factors`` divided by the product of ``over``, rounded to ``digits`` decimals."""

    factors: tuple[str, ...]
    over: tuple[str, ...] = ()
    digits: int = 2


class Endpoint(Record):
    """Declares the answers of an API.

    Attributes:
        lookups: maps parameters to ``table.column``, to find the row that the parameter names. A missing row is an API
            error.
        minimum: maps parameters to their least value.
        source: the looked-up parameter with the row for ``columns``, if no rows are selected.
        columns: paths from the row, through references, as ``path`` or ``path as key``.
        compute: maps keys to figures that are added to the response.
    """

    lookups: dict[str, str] = Field(default_factory=dict)
    minimum: dict[str, float] = Field(default_factory=dict)
    select: Select | None = None
    source: str = ""
    columns: tuple[str, ...] = ()
    compute: dict[str, Product] = Field(default_factory=dict)
