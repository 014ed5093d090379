"""Equal sets of records have equal digests, however they are grouped; any difference shows."""

import numpy as np
import pytest

from checkers.history.records.digest import MODULUS, digest, digests, mix

COLUMNS = {
    "offset": [0, 1, 2, 5],
    "producer": [1, 1, 2, -1],
    "sequence": [0, 1, 0, -1],
    "checksum": [7, 8, 9, -5],
}


def mixed(columns: dict[str, list[int]]) -> np.ndarray:
    return mix(*(np.array(columns[name], np.int64) for name in COLUMNS))


def by_definition(*numbers: int) -> int:
    """SplitMix64's step and finalizer after each number, with Python's own integers."""
    state = 0
    for number in numbers:
        state = ((state ^ number % (1 << 64)) + 0x9E3779B97F4A7C15) % (1 << 64)
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % (1 << 64)
        state = (state ^ state >> 27) * 0x94D049BB133111EB % (1 << 64)
        state ^= state >> 31
    return state


def test_splitmix64_gives_its_published_first_number() -> None:
    """From seed 0, as in the generator's reference implementation."""
    assert by_definition(0) == 0xE220A8397B1DCDAF


def test_a_record_is_mixed_as_defined() -> None:
    wanted = [by_definition(*row) for row in zip(*COLUMNS.values(), strict=True)]
    assert mixed(COLUMNS).tolist() == wanted


def test_a_digest_is_the_sum_modulo_two_to_the_63() -> None:
    numbers = np.array([MODULUS - 1, 3, MODULUS * 2 - 1], np.uint64)
    assert digest(numbers) == (MODULUS - 1 + 3 + MODULUS * 2 - 1) % MODULUS == 1
    assert digest(np.empty(0, np.uint64)) == 0


def test_digests_of_parts_add_up_to_that_of_the_whole() -> None:
    numbers = mixed(COLUMNS)
    parts = digests(numbers, np.array([0, 2, 2]), np.array([2, 2, 4]))
    assert parts.tolist()[1] == 0
    assert sum(parts.tolist()) % MODULUS == digest(numbers)
    assert parts.tolist()[0] == digest(numbers[:2])


@pytest.mark.parametrize("name", COLUMNS)
def test_another_value_in_any_column_is_another_digest(name: str) -> None:
    changed = COLUMNS | {name: [*COLUMNS[name][:-1], COLUMNS[name][-1] + 1]}
    assert digest(mixed(changed)) != digest(mixed(COLUMNS))


def test_records_that_swap_their_offsets_have_another_digest() -> None:
    swapped = COLUMNS | {"offset": [1, 0, 2, 5]}
    assert digest(mixed(swapped)) != digest(mixed(COLUMNS))
