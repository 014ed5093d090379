"""Small arrays leave nothing behind once NumPy's cache is full, and commands start without NumPy."""

import subprocess
import sys

FILLED = """
import ctypes, sys
import numpy as np
from compose.host.array_cache import fill_array_cache

class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Mallinfo2
if sys.argv[1] == "filled":
    fill_array_cache()
before = libc.mallinfo2().uordblks
for rows in range(1, 1024):
    batch = [np.zeros(rows, np.uint8) for _ in range(9)]
    del batch
print(libc.mallinfo2().uordblks - before)
"""


def test_batches_of_all_sizes_leave_nothing_behind_where_the_cache_of_arrays_is_full() -> None:
    """What the C library has in use, by its own count; in a process whose NumPy has done nothing yet."""

    def left(how: str) -> int:
        command = [sys.executable, "-c", FILLED, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    assert abs(left("filled")) < 100_000 < 2_000_000 < left("empty")


def test_the_command_line_starts_without_numpy() -> None:
    """It takes longer to load than all else, and a run begins its process anew before it needs any."""
    program = "import sys, harness.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
