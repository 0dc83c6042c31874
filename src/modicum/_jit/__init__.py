"""Compiled loops and nothing else: arrays in, arrays written or a scalar returned."""

from numba import njit

compiled = njit(cache=True, nogil=True)
# for loops over sums: terms may be added in another order, so that several are added at once; NaN still works
compiled_sums = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
