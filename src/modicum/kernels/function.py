"""Any callable as a kernel."""

from collections.abc import Callable
from typing import Any

import numpy as np

from modicum.exceptions import DataError, StateError
from modicum.kernels.kernel import Kernel
from modicum.kernels.pairs import fill
from modicum.rows import n_rows
from modicum.rules.params import TRUTH
from modicum.state.part import FUNCTION, Missing


class FunctionKernel(Kernel):
    """A callable on two chunks (gives a matrix), or on two rows or two Python objects (gives a number).

    It must be symmetric and positive semidefinite; this is not checked.

    Examples
    --------
    >>> def common_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> FunctionKernel(common_letters, takes_objects=True)(["tea", "coffee"], ["eat", "fog"])
    array([[3., 0.],
           [1., 2.]])
    """

    _invariants = {
        "function": FUNCTION,
        "takes_objects": TRUTH,
    }

    def __init__(self, function: Callable[[Any, Any], Any], *, takes_objects: bool = False):
        self.function = function
        self.takes_objects = takes_objects

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        if isinstance(self.function, Missing):
            name = self.function.name
            raise StateError(f"the kernel was the function {name!r}, which a file can't hold. Load with kernel={name}.")
        out = np.empty((n_rows(A), n_rows(B)))
        if out.size:
            fill(self.function, A, B, out, objects=self.takes_objects)
        if not np.isfinite(out).all():
            bad = out[~np.isfinite(out)][0]
            raise DataError(f"the kernel gave {bad} for a pair of rows; it must be a finite number.")
        return out
