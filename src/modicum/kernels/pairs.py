"""A user's function of all pairs of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np


def fill(function: Callable[[Any, Any], Any], A: Any, B: Any, out: np.ndarray, *, objects: bool) -> None:
    """Write the function of all pairs into `out`; numeric rows are tried as chunks first."""
    if not objects and _is_chunkwise(function, A, B):
        out[:] = function(A, B)
    else:
        for i, a in enumerate(A):
            out[i] = [function(a, b) for b in B]


def _is_chunkwise(function: Callable[[Any, Any], Any], A: Any, B: Any) -> bool:
    """Whether the function gives a matrix for two chunks: one with more columns than a row can't come from two rows."""
    a, b = A[[0, -1]], B[[0] * (B.shape[1] + 1)]
    try:
        return np.shape(function(a, b)) == (2, len(b))
    except (TypeError, ValueError, IndexError):
        return False
