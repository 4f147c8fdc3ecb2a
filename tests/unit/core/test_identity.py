"""Results that are kept for objects as such."""

from __future__ import annotations

from trialbed.identity import once_for


def test_a_function_is_called_once_for_the_same_objects_and_again_for_equal_ones() -> None:
    made: list[list[int]] = []

    @once_for(2)
    def total(numbers: list[int], more: tuple[int, ...] = ()) -> int:
        made.append(numbers)
        return sum(numbers) + sum(more)

    one, equal = [1, 2], [1, 2]
    assert [total(one), total(one), total(equal), total(one, more=(1,))] == [3, 3, 3, 4]
    assert [numbers is one for numbers in made] == [True, False, True]


def test_the_oldest_results_are_forgotten_first() -> None:
    made: list[str] = []

    @once_for(2)
    def note(name: str) -> str:
        made.append(name)
        return name

    for name in ("a", "b", "c", "c", "a"):
        note(name)
    assert made == ["a", "b", "c", "a"]
