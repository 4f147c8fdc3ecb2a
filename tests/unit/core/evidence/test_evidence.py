"""Evidence: what a response holds an answer to, and how an answer says it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.evidence import MAX_TEXT, MIN_TEXT, Passages, carries, every_value, evidence_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@for_each(
    ("response", "values"),
    [
        ({"city": "Ellwang", "people": 48213}, ("Ellwang", "48213")),
        ({"a": {"b": ["Nordtor", "Nordtor", 7, 12.5]}}, ("Nordtor", "12.5")),
        ({"ok": True, "next": None, "id": "x1"}, ()), ('{"city": "Ellwang"}', ("Ellwang",)),
        ('["one", "two"]', ("one", "two")), ("{not json", ("{not json",)), ("  plain   text ", ("plain text",)),
        ("", ()), (None, ()), (-3.5, ("-3.5",)), ("x" * (MAX_TEXT + 1), ()), ("x" * MAX_TEXT, ("x" * MAX_TEXT,)),
        ("x" * (MIN_TEXT - 1), ()),
    ],
)  # fmt: skip
def test_evidence_values(response: Any, values: tuple[str, ...]) -> None:
    assert evidence_values(response) == values


LONG = "The terms of the shop. " * 20 + "Goods can be returned within 31 days."


@for_each(
    ("response", "values"),
    [
        ("43", ("43",)), ("7", ("7",)), (7, ("7",)), (True, ("true",)), ("no", ("no",)), (LONG, (LONG,)),
        ({"left": 7, "city": "Ellwang", "id": "x1", "ok": True}, ("Ellwang", "7", "x1")),
        ("{'cut': 7, 'o", ("{'cut': 7, 'o",)), ("{" + LONG, ()), ("null", ()), (None, ()), ("", ()),
    ],
)  # fmt: skip
def test_every_value_has_the_short_ones_too(response: Any, values: tuple[str, ...]) -> None:
    assert every_value(response) == values


@given(st.dictionaries(st.text(min_size=1, max_size=8), JSON, min_size=1, max_size=4))
def test_a_response_and_its_json_text_say_the_same(response: dict[str, Any]) -> None:
    assert evidence_values(json.dumps(response)) == evidence_values(response)


@given(JSON)
def test_an_answer_of_all_values_carries_each(response: Any) -> None:
    values = evidence_values(response)
    answer = " ; ".join(values)
    assert all(carries(answer, value) for value in values)


@for_each(
    ("answer", "value"),
    [
        ("The ferry covers 111.4km.", "111.4"), ("The ferry covers 111.4 km.", "111.4km"),
        ("It is 29.1C there", "29.1"), ("It is 29.1°C there", "29.1 C"), ("It is 29.1 degrees", "29.10"),
        ("It costs 14.70 in all", "14.7"), ("It costs $14.70", "14.7"), ("opened in 1,984", "1984"),
        ("48\u202f213 people", "48213"), ("48'213 people", "48213"), ("1234567.0", "1,234,567"),
        ("It leaves at 8:05 am.", "08:05"), ("It leaves at 8:05 a.m.", "08:05"),
        ("It leaves at 8.05 p.m., that is 8:05 PM", "20:05"), ("at 20:05:00", "20:05"), ("at 9 am", "09:00"),
        ("2026-05-03T08:05:00Z", "08:05"), ("on May 3rd, 2026", "2026-05-03"),
        ("on the 3rd of May 2026", "2026-05-03"), ("on 2026-05-03", "3 May 2026"), ("on 3 May 2026", "3 May"),
        ("**Mirel** Tidemark", "Mirel Tidemark"), ("_Mirel_ <b>Tidemark</b>", "mirel tidemark"),
        ("`Mirel` ~~Tidemark~~", "Mirel Tidemark"), ("It\u2019s \u201cNordtor\u201d", 'it\'s "Nordtor"'),
        ("minus: \u22123.5", "-3.5"), ("It is 100 %", "100%"), ("| Ellwang | 48,213 |", "48213"),
        ("48 213 people live there", "48213"), ("from 1 048 213 on", "1048213"), ("48 213,50 EUR", "48213.5"),
        ("It costs 1.984,50 euros", "1984.5"), ("1.048.213 people", "1048213"),
        ("Die Stadt hat 48.213 Einwohner und ist alt.", "48213"), ("Es sind 21,5 Grad und 1.984 m", "1984"),
        ("Sie ist 1,984 km lang und hat Licht.", "1.984"), ("It is 21,5 degrees", "21.5"),
        ("12,34,567 rupees", "1234567"), ("about 5 million", "5000000"), ("about 1.5 million", "1500000"),
        ("3 thousand seats", "3000"), ("2 trillion dollars", "2000000000000"),
        ("cinco millones: 5 millones", "5000000"), ("circa 2 milioni", "2000000"), ("at 9 at night", "21:00"),
        ("from 2026-05-03T10:20", "10:20"), ("48213", "48 213"), ("um 20.05 Uhr", "20:05"), ("um 8 Uhr", "08:00"),
        ("at 20h05", "20:05"), ("at 8.05 p.m.", "20:05"), ("at noon", "12:00"), ("at midnight", "00:00"),
        ("minus 3.5 degrees", "-3.5"), ("on 03.05.2026", "2026-05-03"), ("am 3. Mai 2026", "2026-05-03"),
        ("am 1. März 2026", "2026-03-01"), ("2026/05/03", "2026-05-03"), ("5/3/2026", "2026-05-03"),
        ("3/5/2026", "2026-05-03"), ("\u201eNordtor\u201c", '"Nordtor"'), ("\u00abNordtor\u00bb", '"Nordtor"'),
        ("Mirel Tidemark's office", "Mirel Tidemark"), ("at McDonald\u2019s", "McDonald's"),
        ("Mirel&nbsp;Tidemark of AT&amp;T", "Mirel Tidemark"), ("AT&amp;T", "AT&T"), ("-$1,250.75", "-1250.75"),
        ("-\u20ac1.250,75", "-1250.75"), ("about 1,5 Millionen", "1500000"), ("2 millions d'habitants", "2000000"),
        ("294.5 K", "294.5"), ("jusqu'à 18 h", "18:00"), ("at 10 o'clock", "10:00"),
        ("at 6 o'clock in the evening", "18:00"), ("at 9:30 in the morning", "09:30"), ("um 9 Uhr 30", "09:30"),
        ("from 9.30 to 18.00.", "18:00"), ("03-May-2026", "2026-05-03"), ("3-5-2026", "2026-05-03"),
        ("le 15 août 2026", "2026-08-15"), ("1er février 2026", "2026-02-01"), ("3 juin 2026", "2026-06-03"),
        ("3 juillet 2026", "2026-07-03"), ("31 de diciembre del 2026", "2026-12-31"),
        ("3 maggio 2026", "2026-05-03"), ("3 maart 2026", "2026-03-03"), ("2026年5月3日", "2026-05-03"),
        ("気温は21.5度です", "21.5"), ("市長はMirel Tidemarkです", "Mirel Tidemark"), ("시장은 김철수입니다", "김철수"),
    ],
)  # fmt: skip
def test_spelling_does_not_matter(answer: str, value: str) -> None:
    assert carries(answer, value)


@for_each(
    ("answer", "value"),
    [
        ("121.5", "21.5"), ("21.55", "21.5"), ("21.5.3", "21.5"), ("-3.5 degrees", "3.5"), ("1,984", "984"),
        ("007", "7"), ("8:05 pm", "08:05"), ("18:05", "8:05"), ("3 May 2025", "2026-05-03"), ("ZX-412", "ZX-41"),
        ("12ab34", "12"), ("Mirel and Tidemark", "Mirel Tidemark"), ("minus 3.5 degrees", "3.5"),
        ("48 2130", "48213"), ("rooms 48, 213", "48213"), ("1.984", "1984"), ("1,984", "1.984"),
        ("It is 1.984 km", "1984"), ("5 millions of reasons, 6 million", "5000000"), ("8.05 a.m.", "20:05"),
        ("20.05", "20:05"), ("3.5.2026", "2026-03-05"), ("at noon", "00:00"), ("111.4 million", "111.4"),
        ("5 billion", "5"), ("Mirel Tidemarks", "Mirel Tidemark"), ("Mirel's Tidemark", "Mirel Tidemark"),
        ("It costs 9.30", "09:30"), ("at 18.00%", "18:00"), ("3 June 2026", "2026-05-03"),
        ("3 marbles 2025", "2026-03-03"), ("気温は125度です", "25"),
    ],
)  # fmt: skip
def test_another_value_is_another_value(answer: str, value: str) -> None:
    assert not carries(answer, value)
    assert not Passages([answer]).mention(value)


@for_each(
    "answer",
    [
        "The museum is not open.", "The museum isn't open.", "The museum is **not** currently open.",
        "It is certainly NOT true that: the museum is open, and more. I could not find it",
        "It is false that the museum is open.", "I could not confirm whether the museum really is open.",
        "I was unable to find out if it is open", "That it is open is wrong: open is not correct.",
        "It is neither new nor open.", "I doubt that it is open.", "It is unclear whether it is open.",
        "I could not find out which museum is meant (open?).", "Open is no longer its state.",
        "Open used to be the state.", "Open isn't the state.", "It is closed rather than open.",
        "The sign says closed instead of open.", "Das Museum ist nicht open.", "Le musée n'est pas open.",
        "El museo no es open.", "Il museo non è open.", "O museu não está open.", "Het museum is niet open.",
    ],
)  # fmt: skip
def test_what_is_denied_is_not_said(answer: str) -> None:
    assert not carries(answer, "open")
    assert Passages([answer]).mention("open")


@for_each(
    ("answer", "value"),
    [
        ("The museum is not only open, it is free.", "open"), ("The museum is not closed; it is open.", "open"),
        ("The museum is not closed, it is open.", "open"), ("It is not Rome but Ellwang.", "Ellwang"),
        ("No, it is open.", "open"), ("No doubt open.", "open"), ("It does not open until 9:00.", "9:00"),
        ("No. 42", "42"), ("I could not find its phone number, but it is open.", "open"),
        ("There is no rain today and it is 21.5 degrees.", "21.5"), ("It is not far.\n- open\n", "open"),
        ("It is not open. On Monday it is open.", "open"), ("Entry is not free.", "not free"),
        ("The Amber Gate is not available by phone.", "Amber Gate"),
        ("Amber Gate is not only a nickname.", "Amber Gate"), ("It takes 42 minutes instead of 43.", "42"),
        ("Take the non-stop train TM 878.", "TM 878"), ("Geöffnet nicht vor 18 Uhr.", "18:00"),
        ("Oui, 21,5 degrés, pas plus.", "21.5"), ("Sie ist nicht rot, sondern blau.", "blau"),
        ("I checked who the ferryman is: Gethin Underhay.", "Gethin Underhay"),
    ],
)  # fmt: skip
def test_what_is_said_beside_a_negation_is_said(answer: str, value: str) -> None:
    assert carries(answer, value)


def test_very_long_denials_are_read_in_time() -> None:
    assert not carries("not open " * 50_000, "open")
