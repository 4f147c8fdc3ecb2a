"""Texts that are published have no folders of their author."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed_pages.publishing._names import folder_mask, public_name

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)


@for_each(
    ("text", "public"),
    [
        ('File "/home/ann/shop/desk.py", line 3', 'File "…/desk.py", line 3'),
        ("file:///Users/ann/desk.py is missing", "file://…/desk.py is missing"),
        ("no such file: /home/ann", "no such file: …"),
        ("/home/ann/: denied", "…/: denied"),
        (r"C:\Users\ann\desk.py: bad", "…/desk.py: bad"),
        (r"C:\\Users\\ann\\lib\\desk.py: bad", "…/desk.py: bad"),
        (
            "/opt/envs/x/lib/python3.11/site-packages/agents/_run.py:7",
            "…/agents/_run.py:7",
        ),
        ("~/keys/a.json", "…/a.json"),
        ("python /data/ann/own.py: exit 1", "python …/own.py: exit 1"),
        ("/__w/repo/x.py and D:\\work\\ann\\x.py", "…/x.py and …/x.py"),
        ('File "/data/My Documents/a plan.py", line 3', 'File "…/a plan.py", line 3'),
        ("File &#34;C:\\Users\\Ann Smith\\x.py&#34;, line 3", "File &#34;…/x.py&#34;, line 3"),
        ("GET /media/search/v1 and /workspace/list", "GET /media/search/v1 and /workspace/list"),
        ('<path d="M0" /> 1 / 2', '<path d="M0" /> 1 / 2'),
        ("POST https://example.org/home/ann/x: 404", "POST https://example.org/home/ann/x: 404"),
        ("POST /v1/chat/completions: 404", "POST /v1/chat/completions: 404"),
        ("Weather/forecast/home", "Weather/forecast/home"),
        ("</section> 1/2 and …", "</section> 1/2 and …"),
    ],
)
def test_folders_are_left_out_and_names_stay(text: str, public: str) -> None:
    mask = folder_mask()
    assert mask(text) == mask(mask(text)) == public


def test_a_home_that_is_the_root_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert folder_mask()('<path d="M0" /> 1 / 2') == '<path d="M0" /> 1 / 2'


@for_each(
    ("name", "public"),
    [
        ("llama-cpp:/home/ann/m.gguf", "llama-cpp:…/m.gguf"),
        ("local:qwen2.5", "local:qwen2.5"),
        ("replay:kept/a.cassette", "replay:kept/a.cassette"),
    ],
)
def test_names_of_files_have_no_folders(name: str, public: str) -> None:
    assert public_name(name) == public


def test_the_folder_of_the_program_is_left_out_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "a place of Ann's"
    own.mkdir()
    monkeypatch.chdir(own)
    assert folder_mask()(f"{own}/desk/orders.py: {own}") == "…/orders.py: …"


@given(NAMES, st.lists(NAMES, max_size=4), st.sampled_from(["/home", "/Users", "C:\\Users"]), st.text(max_size=20))
def test_no_person_is_named(person: str, folders: list[str], root: str, before: str) -> None:
    separator = "\\" if "\\" in root else "/"
    path = separator.join([root, f"ann-{person}", *folders, "desk.py"])
    assert f"ann-{person}" not in folder_mask()(f"{before} {path}")


@given(st.text())
def test_masking_again_changes_nothing(text: str) -> None:
    once = folder_mask()(text)
    assert folder_mask()(once) == once
