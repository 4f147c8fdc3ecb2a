from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.records import ApiRef
from trialbed_selection import safe_name, tool_names

SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
names = st.text(max_size=80) | st.text(alphabet="ab_-/ é", max_size=6)
refs = st.builds(ApiRef, category=st.sampled_from(["A", "B"]), tool_name=names, api_name=names)


def ref(tool_name: str, api_name: str, category: str = "C") -> ApiRef:
    return ApiRef(category=category, tool_name=tool_name, api_name=api_name)


@for_each(
    ("original", "expected"),
    [
        ("Website Screenshot or Thumbnail_/capture", "Website_Screenshot_or_Thumbnail_capture"),
        ("SEO API - Get Backlinks_GetTopBacklinks", "SEO_API_-_Get_Backlinks_GetTopBacklinks"),
        ("-x", "tool_-x"),
        ("!!!", "tool"),
        ("", "tool"),
        ("KolektifAPI_Döviz", "KolektifAPI_D_viz"),
        ("1_2", "1_2"),
        ("_a__b_", "a_b"),
        ("a" * 70, "a" * 64),
        ("a" * 63 + "_b", "a" * 63),
    ],
)
def test_original_names_become_model_safe(original: str, expected: str) -> None:
    assert safe_name(original) == expected


@for_each(
    ("original", "expected"),
    [
        ("get_weather", "get_weather"),
        ("solve.quadratic_equation", "solve_quadratic_equation"),
        ("__private__name", "__private__name"),
        ("a b", "a_b"),
        ("é" * 3, "tool"),
        ("a" * 65, "a" * 64),
    ],
)
def test_functions_keep_the_names_that_endpoints_take(original: str, expected: str) -> None:
    function = ref("", original)
    assert tool_names([function]) == {function: expected}


@given(st.text(max_size=200))
def test_every_name_is_safe_and_stays_as_it_is_the_second_time(original: str) -> None:
    name = safe_name(original)
    assert SAFE.fullmatch(name)
    assert safe_name(name) == name


@given(st.lists(refs, unique=True, max_size=30), st.randoms(use_true_random=False))
def test_names_are_unique_safe_and_the_same_in_any_order(originals: list[ApiRef], random) -> None:
    found = tool_names(originals)
    assert len(set(found.values())) == len(originals)
    assert all(SAFE.fullmatch(name) for name in found.values())
    random.shuffle(originals)
    assert tool_names(originals) == found


@given(st.lists(refs, unique=True, max_size=10), st.lists(refs, unique=True, max_size=10))
def test_names_never_meet_names_already_taken(catalog: list[ApiRef], others: list[ApiRef]) -> None:
    taken = set(tool_names(catalog).values())
    assert taken.isdisjoint(tool_names(others, taken).values())


def test_all_that_meet_get_a_suffix_and_others_none() -> None:
    found = tool_names([ref("a b", "c"), ref("a_b", "c"), ref("d", "e")])
    assert found[ref("d", "e")] == "d_e"
    assert re.fullmatch(r"a_b_c_[0-9a-f]{8}", found[ref("a b", "c")])
    assert re.fullmatch(r"a_b_c_[0-9a-f]{8}", found[ref("a_b", "c")])


def test_the_same_names_in_two_categories_are_told_apart() -> None:
    found = tool_names([ref("Demo", "x", "Events"), ref("Demo", "x", "Media")])
    assert len(set(found.values())) == 2


def test_long_names_that_meet_after_the_cut_keep_the_limit() -> None:
    found = tool_names([ref("t" * 60, "first"), ref("t" * 60, "fiend")])
    assert len(set(found.values())) == 2
    assert all(len(name) <= 64 for name in found.values())


def test_a_name_that_already_looks_suffixed_is_told_apart() -> None:
    pair = [ref("a b", "c"), ref("a_b", "c")]
    suffixed = tool_names(pair)[pair[0]]
    tool, _, api = suffixed.rpartition("_")
    found = tool_names([*pair, ref(tool, api)])
    assert len(set(found.values())) == 3
    assert found == tool_names([ref(tool, api), *reversed(pair)])
