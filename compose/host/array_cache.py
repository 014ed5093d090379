"""The blocks of memory that NumPy keeps for the next arrays.

Apart from `memory`, which every command loads as it starts, most of them without NumPy.
"""

import numpy as np

KEPT_BLOCKS, KEPT_BELOW = 7, 1024
"""NumPy keeps as many blocks of each size below this, in bytes, when arrays are gone."""


def fill_array_cache() -> None:
    """Let NumPy keep at once what it would gather for hours, 3.6 MiB: some blocks of each small size.

    A batch has as many rows as have just arrived, so sizes are new for long, and a block that is kept keeps
    the page it lies in, between others that are free. Takes a few milliseconds. See npy_alloc_cache of NumPy.
    """
    for size in range(1, KEPT_BELOW):
        at_a_time = [np.empty(size, np.uint8) for _ in range(KEPT_BLOCKS)]
        at_a_time.clear()
