"""Compiled loops and nothing else: arrays in, arrays written or a scalar returned."""

from numba import njit

compiled = njit(cache=True, nogil=True)
