"""Files of tasks as CSV."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.errors import DataError
from trialbed_tasks.reading import read_tasks

TABLE = """Task,expect,id,tags,order
How much did order {order} cost?,12.5; USD,price,"billing, orders",7
"Say ""{order}""
and {not a column}",,,,8

"""


@for_each(
    "content",
    [
        TABLE.encode(),
        b"\xef\xbb\xbf" + TABLE.replace("\n", "\r\n").encode(),
        b'task;expect;id;tags;order;;\nHow much did order {order} cost?;"12.5;USD";price;billing,orders;7;;\n'
        b'"Say ""{ order }""\nand {not a column}";;;;8;;\n;;;;;;\n',
    ],
)
def test_rows_are_tasks_in_which_other_columns_are_variables(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tasks.csv"
    path.write_bytes(content)
    first, second = read_tasks(path).queries()
    assert (first.query_id, first.text) == ("price", "How much did order 7 cost?")
    assert (first.reference_facts, first.tags) == (("12.5", "USD"), ("billing", "orders"))
    assert second.text.replace("\r\n", "\n") == 'Say "8"\nand {not a column}'
    assert (second.query_id, second.reference_facts, second.tags) == (2, (), ())


def test_a_table_without_variables_leaves_braces_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("query,tags\nWhat does {name} mean?,x\n")
    assert read_tasks(path).queries()[0].text == "What does {name} mean?"


def test_tags_are_a_variable_too(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("task,tags\nAsk {tags}.,billing\n")
    (query,) = read_tasks(path).queries()
    assert (query.text, query.tags) == ("Ask billing.", ("billing",))


@for_each(
    ("text", "says"),
    [
        ("", "tasks.csv:1: there is no column 'task'; the columns are none"),
        ("question,answer\na,b\n", "tasks.csv:1: there is no column 'task'; the columns are question, answer"),
        ("task,query\na,b\n", "tasks.csv:1: two columns are 'query'"),
        ("task,city\n", "tasks: is empty; give at least one"),
        ('task,city\n"a\nb",x\n\nc,d,e\n', "tasks.csv:5: has 3 cells, and the first line has 2"),
        ("task,city\na {ctiy},Rome\n", "tasks.csv:2: {ctiy}: there is no column 'ctiy'; did you mean 'city'?"),
        ("task,city\n,Rome\n", "tasks.csv:2: task 1: query: the key is missing, or empty"),
        ('task\na\n"b\nc', "tasks.csv:3: is not valid CSV: unexpected end of data"),
        ("task\n" + "x" * 200_000, "tasks.csv:2: is not valid CSV: field larger than field limit"),
        ("task,id\na,1\nb,1\n", "tasks.csv:3: task 1: another task has this id"),
    ],
)
def test_a_fault_of_a_table_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_tasks(path)
    assert says in str(raised.value)


def test_bytes_that_are_no_text_are_named_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_bytes("task\nGrüße\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"tasks\.csv:2: is not UTF-8 text"):
        read_tasks(path)
