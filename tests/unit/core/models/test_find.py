"""Models by name: which driver a text names, and what is said where there is none."""

from __future__ import annotations

from support.cases import for_each

from trialbed.models import close_scheme, find_model, installed_model


@for_each(
    ("text", "scheme", "name"),
    [
        ("scripted:gold", "scripted", "gold"),
        ("gpt-4o", "endpoint", "gpt-4o"),
        ("llama3.2:1b", "endpoint", "llama3.2:1b"),
        ("endpoint:scripted:gold", "endpoint", "scripted:gold"),
        ("scripted:", "scripted", ""),
    ],
)
def test_a_text_names_a_driver_and_a_model_of_it(text: str, scheme: str, name: str) -> None:
    found = find_model(text)
    assert (found.driver.scheme, found.name) == (scheme, name)


def test_a_name_from_elsewhere_never_names_a_file_to_run(tmp_path: object) -> None:
    found = installed_model(f"{tmp_path}/model.py:Model")
    assert found.driver.scheme == "endpoint"


def test_a_misspelt_scheme_gets_a_suggestion_and_a_names_own_colon_none() -> None:
    assert close_scheme("scriptd:gold") == "scripted:gold"
    assert close_scheme("llama3.2:1b") is None
    assert close_scheme("gold") is None
