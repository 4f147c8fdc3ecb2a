from __future__ import annotations

from pathlib import Path

import pytest

from trialbed.errors import DataError
from trialbed_verify.ranking import RankedVendor, read_table

HEADER = "model,vendor,success_rate,f1,tps,schema_accuracy,ttft_ms,avg_token"


def values_of(vendor: RankedVendor) -> dict[str, float]:
    return {metric: found.value for metric, found in vendor.metrics.items() if found.value is not None}


def table(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([header, *lines]))
    return path


def test_columns_are_found_by_name_and_others_passed_over(tmp_path: Path) -> None:
    header = "vendor, irf, model,avg_token,ttft_ms,schema_accuracy,tps,f1,success_rate"
    (found,) = read_table(table(tmp_path, "acme, 0.9, m, 1500, 300, 0.9, 50, 0.8, 1", header=header))
    assert found.name == ("m", "acme")
    assert values_of(found) == {
        "success_rate": 1.0,
        "f1": 0.8,
        "tps": 50.0,
        "schema_accuracy": 0.9,
        "ttft_ms": 300.0,
        "avg_token": 1500.0,
    }


def test_an_empty_cell_and_an_impossible_zero_are_missing(tmp_path: Path) -> None:
    (found,) = read_table(table(tmp_path, "m,acme,0,0,0,,0,0"))
    assert values_of(found) == {"success_rate": 0.0, "f1": 0.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("m,acme,98.5,0.8,50,0.9,300,1500", "line 2: success_rate is '98.5', but must be a number from 0 to 1"),
        ("m,acme,1,fast,50,0.9,300,1500", "line 2: f1 is 'fast', but must be a number from 0 to 1"),
        ("m,acme,1,0.8,-5,0.9,300,1500", "line 2: tps is '-5', but must be a number of at least 0"),
        ("m,acme,1,0.8,inf,0.9,300,1500", "line 2: tps is 'inf'"),
        ("m,,1,0.8,50,0.9,300,1500", "line 2: vendor is empty"),
        ("m,acme,1,0.8,50,0.9,1,300,1500", "line 2: more cells than the table has columns"),
    ],
)
def test_an_error_names_line_and_column(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(table(tmp_path, line))
    assert message in str(caught.value)


def test_a_lacking_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: missing columns: f1, tps;"):
        read_table(
            table(
                tmp_path, "m,acme,1,0.9,300,1500", header="model,vendor,success_rate,schema_accuracy,ttft_ms,avg_token"
            )
        )


def test_a_vendor_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    line = "m,acme,1,0.8,50,0.9,300,1500"
    with pytest.raises(DataError, match="m at acme is listed twice"):
        read_table(table(tmp_path, line, line))


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no rows"):
        read_table(table(tmp_path))
