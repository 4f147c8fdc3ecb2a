"""The embedded tables."""

from __future__ import annotations

import json
from pathlib import Path

import trialbed_plugins.datasets.mini
from trialbed_plugins.datasets.mini._world import RecordRow, load_world, same

FOLDER = Path(trialbed_plugins.datasets.mini.__file__).parent
WORLD = load_world()


def test_files_are_ascii_json_with_one_record_a_line() -> None:
    files = sorted(FOLDER.rglob("*.json"))
    assert len(files) > 50
    for path in files:
        text = path.read_bytes().decode("ascii")
        json.loads(text)
        assert text.endswith("\n")
    for name, table in WORLD.tables.items():
        lines = (FOLDER / "tables" / f"{name}.json").read_text("ascii").splitlines()
        assert sum(line.startswith("    {") for line in lines) == len(table.rows)


def test_keys_are_unique_columns_are_the_same_and_references_hold() -> None:
    for name, table in WORLD.tables.items():
        assert len({row[table.key] for row in table.rows}) == len(table.rows), name
        assert len({tuple(row) for row in table.rows}) == 1, name
        for column, target in table.references.items():
            for row in table.rows:
                assert WORLD.find(target, WORLD.tables[target].key, row[column]) is not None, (name, column)


def test_identifiers_are_unique_across_tables() -> None:
    keys = [row[table.key] for table in WORLD.tables.values() for row in table.rows]
    assert len(set(keys)) == len(keys)


def test_names_that_apis_look_up_are_unique() -> None:
    targets = {target for endpoint in WORLD.endpoints.values() for target in endpoint.lookups.values()}
    for target in targets:
        table, column = target.split(".")
        values = [str(row[column]).casefold() for row in WORLD.tables[table].rows]
        assert len(set(values)) == len(values), target


def test_a_path_follows_references() -> None:
    train = WORLD.tables["trains"].rows[0]
    row = RecordRow(WORLD.tables["trains"], train)
    city = WORLD.find("cities", "city_id", train["origin_id"])
    assert city is not None
    assert WORLD.value(row, "origin_id.name") == city.values["name"]
    assert WORLD.value(row, "origin_id.region_id.name") == WORLD.value(city, "region_id.name")


def test_texts_are_the_same_whatever_their_case_and_outer_space() -> None:
    assert same(" Velmora", "velmora ")
    assert same(3, 3.0)
    assert not same(1, True)
    assert not same("3", 3)
