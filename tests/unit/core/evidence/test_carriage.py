from __future__ import annotations

import pytest

from trialbed.evidence import carries, carries_fact, mentions


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("The ferry covers 111.4km.", "111.4"),
        ("The ferry covers 111.4 km.", "111.4km"),
        ("It is 29.1C there", "29.1"),
        ("It is 29.1°C there", "29.1 C"),
        ("It is 29.1 degrees", "29.10"),
        ("It costs 14.70 in all", "14.7"),
        ("It costs $14.70", "14.7"),
        ("opened in 1,984", "1984"),
        ("48\u202f213 people", "48213"),
        ("48'213 people", "48213"),
        ("1234567.0", "1,234,567"),
        ("It leaves at 8:05 am.", "08:05"),
        ("It leaves at 8:05 a.m.", "08:05"),
        ("It leaves at 8.05 p.m., that is 8:05 PM", "20:05"),
        ("at 20:05:00", "20:05"),
        ("at 9 am", "09:00"),
        ("2026-05-03T08:05:00Z", "08:05"),
        ("on May 3rd, 2026", "2026-05-03"),
        ("on the 3rd of May 2026", "2026-05-03"),
        ("on 2026-05-03", "3 May 2026"),
        ("on 3 May 2026", "3 May"),
        ("**Mirel** Tidemark", "Mirel Tidemark"),
        ("_Mirel_ <b>Tidemark</b>", "mirel tidemark"),
        ("`Mirel` ~~Tidemark~~", "Mirel Tidemark"),
        ("It\u2019s \u201cNordtor\u201d", 'it\'s "Nordtor"'),
        ("minus: \u22123.5", "-3.5"),
        ("It is 100 %", "100%"),
        ("| Ellwang | 48,213 |", "48213"),
        ("48 213 people live there", "48213"),
        ("from 1 048 213 on", "1048213"),
        ("48 213,50 EUR", "48213.5"),
        ("It costs 1.984,50 euros", "1984.5"),
        ("1.048.213 people", "1048213"),
        ("Die Stadt hat 48.213 Einwohner und ist alt.", "48213"),
        ("Es sind 21,5 Grad und 1.984 m", "1984"),
        ("Sie ist 1,984 km lang und hat Licht.", "1.984"),
        ("It is 21,5 degrees", "21.5"),
        ("12,34,567 rupees", "1234567"),
        ("about 5 million", "5000000"),
        ("about 1.5 million", "1500000"),
        ("48213", "48 213"),
        ("um 20.05 Uhr", "20:05"),
        ("um 8 Uhr", "08:00"),
        ("at 20h05", "20:05"),
        ("at 8.05 p.m.", "20:05"),
        ("at noon", "12:00"),
        ("at midnight", "00:00"),
        ("minus 3.5 degrees", "-3.5"),
        ("on 03.05.2026", "2026-05-03"),
        ("am 3. Mai 2026", "2026-05-03"),
        ("am 1. März 2026", "2026-03-01"),
        ("2026/05/03", "2026-05-03"),
        ("5/3/2026", "2026-05-03"),
        ("3/5/2026", "2026-05-03"),
        ("\u201eNordtor\u201c", '"Nordtor"'),
        ("\u00abNordtor\u00bb", '"Nordtor"'),
    ],
)
def test_spelling_does_not_matter(answer: str, value: str) -> None:
    assert carries_fact(answer, value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("121.5", "21.5"),
        ("21.55", "21.5"),
        ("21.5.3", "21.5"),
        ("-3.5 degrees", "3.5"),
        ("1,984", "984"),
        ("007", "7"),
        ("8:05 pm", "08:05"),
        ("18:05", "8:05"),
        ("3 May 2025", "2026-05-03"),
        ("ZX-412", "ZX-41"),
        ("12ab34", "12"),
        ("Mirel and Tidemark", "Mirel Tidemark"),
        ("minus 3.5 degrees", "3.5"),
        ("48 2130", "48213"),
        ("rooms 48, 213", "48213"),
        ("1.984", "1984"),
        ("1,984", "1.984"),
        ("It is 1.984 km", "1984"),
        ("5 millions of reasons, 6 million", "5000000"),
        ("8.05 a.m.", "20:05"),
        ("20.05", "20:05"),
        ("3.5.2026", "2026-03-05"),
        ("at noon", "00:00"),
    ],
)
def test_another_value_is_another_value(answer: str, value: str) -> None:
    assert not carries_fact(answer, value)
    assert not mentions(answer, (value,))


@pytest.mark.parametrize(
    "answer",
    [
        "The museum is not open.",
        "The museum isn't open.",
        "The museum is **not** currently open.",
        "It is certainly NOT true that: the museum is open, and more. I could not find it",
        "It is false that the museum is open.",
        "I could not confirm whether the museum really is open.",
        "I was unable to find out if it is open",
        "That it is open is wrong: open is not correct.",
        "It is neither new nor open.",
    ],
)
def test_what_is_denied_is_not_said(answer: str) -> None:
    assert not carries(answer, ("open",))
    assert mentions(answer, ("open",))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("The museum is not only open, it is free.", "open"),
        ("The museum is not closed; it is open.", "open"),
        ("The museum is not closed, it is open.", "open"),
        ("It is not Rome but Ellwang.", "Ellwang"),
        ("No, it is open.", "open"),
        ("No doubt open.", "open"),
        ("It does not open until 9:00.", "9:00"),
        ("No. 42", "42"),
        ("I could not find its phone number, but it is open.", "open"),
        ("There is no rain today and it is 21.5 degrees.", "21.5"),
        ("It is not far.\n- open\n", "open"),
        ("It is not open. On Monday it is open.", "open"),
        ("Entry is not free.", "not free"),
    ],
)
def test_what_is_said_beside_a_negation_is_said(answer: str, value: str) -> None:
    assert carries(answer, (value,))


def test_very_long_denials_are_read_in_time() -> None:
    assert not carries("not open " * 50_000, ("open",))
