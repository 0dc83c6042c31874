"""Compiled loops and nothing else: arrays in, arrays written or a scalar returned.

The first call of a loop compiles it, so loops are written to compile quickly: everything that numba supplies for numpy
is compiled too. Assigning an array to a slice alone takes 2 s (for the text of its error), and `np.argsort`, `np.max`
or the built-in `max` 0.1 to 1 s; a few lines of scalar code take next to nothing and run as fast.
`benchmarks/speed/first_calls.py` measures it.
"""

from numba import njit

compiled = njit(cache=True, nogil=True)
# for helpers of other loops, which are compiled into those loops
inlined = njit(cache=True, nogil=True, inline="always")
# for sums: terms may be added in any order, so that several are added per instruction; NaN and infinity still work
compiled_sums = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
