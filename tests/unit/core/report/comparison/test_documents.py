"""Result documents that were changed by hand are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import for_each
from support.written_documents import Write

from trialbed.errors import DataError
from trialbed.report.comparison import read_groups


@for_each("repeat", [-1, 2**70, "first", 0.5])
def test_a_repeat_is_a_number(write: Write, repeat: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    document["results"][0]["repeat"] = repeat
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"task 1: repeat is .*, not a whole number"):
        read_groups([str(path)], None)


def test_a_document_without_intervals_is_still_damaged(write: Write) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    del document["summary"]["intervals"]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="lacks 'intervals'"):
        read_groups([str(path)], None)
