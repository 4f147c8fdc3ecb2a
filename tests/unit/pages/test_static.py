"""What the pages bring along."""

from __future__ import annotations

import hashlib
from importlib.resources import files


def test_each_vendored_file_is_the_one_that_its_licence_is_noted_for() -> None:
    static = files("trialbed_pages").joinpath("static")
    rows = [line.strip("| ").split(" | ") for line in static.joinpath("LICENSES.md").read_text().splitlines()[2:]]
    for name, _, _, digest in rows:
        assert hashlib.sha256(static.joinpath(name.strip("`")).read_bytes()).hexdigest() == digest
    assert [row[0] for row in rows] == ["`htmx.min.js`"]
