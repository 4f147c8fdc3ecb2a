from __future__ import annotations

import json
from urllib.parse import quote

from support.cases import for_each

from trialbed_verify.verification.row import RowRedaction

KEY = 'sk-aB3/+dE5"gH7=jK9'


@for_each(
    "said",
    [
        KEY,
        f"Bearer {KEY}.",
        f"{KEY} and {KEY}",
        f"http://h/login?key={quote(KEY, safe='')}",
        json.dumps({"error": f"bad key {KEY}"}),
        json.dumps({"error": KEY.replace('"', "")}).replace("/", "\\/"),
        "cut off: " + KEY[:-1],
        "cut off: " + KEY[:9],
        f"cut off: {KEY[:12]}…",
    ],
)
def test_a_secret_is_found_however_it_is_spelt(said: str) -> None:
    redaction = RowRedaction((KEY, KEY.replace('"', "")))
    (line,) = redaction.lines(json.dumps({"said": said}, ensure_ascii=False).encode())
    kept = json.loads(line)["said"]
    assert "[redacted]" in kept
    assert KEY[:9] not in kept
    assert KEY[-5:] not in kept


@for_each("said", ["sk-aB3/+", "sk-aB3/+dE and more", "nothing"])
def test_what_only_begins_alike_stays(said: str) -> None:
    line = json.dumps({"said": said + " "}).encode()
    assert RowRedaction((KEY, "short")).lines(line)[0] is line
