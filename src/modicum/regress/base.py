"""What all regressors share: targets, one finite number per row, and the size of a kernel."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from modicum.contract.learner import Learner
from modicum.contract.validation import LARGEST_VALUE, refuse_disguised
from modicum.exceptions import DataError
from modicum.kernels import Kernel
from modicum.state.packing import held_bytes


class Regressor(RegressorMixin, Learner):
    """Base of the regressors. `_learn` is given targets as float64; `score` is R^2."""

    def _surprise(self, X: Any, y: np.ndarray | None) -> np.ndarray:
        """Absolute errors, which `half_life="auto"` watches."""
        assert y is not None  # regressors refuse rows without
        return np.abs(y - self.predict(X))

    def _check_target(self, y: Any, count: int) -> np.ndarray:
        self._require_target(y)
        name = type(self).__name__
        refuse_disguised(name, "targets", y)
        try:
            y = np.asarray(column_or_1d(y, warn=True), np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}: targets must be numbers, one per row ({error}).") from None
        super()._check_target(y, count)
        bad = np.flatnonzero(~(np.abs(y) <= LARGEST_VALUE))
        if len(bad):
            raise DataError(
                f"{name}: the target of row {bad[0]} of this chunk is {y[bad[0]]}. Fill in, scale down or drop such "
                "rows first."
            )
        return y


def kernel_bytes(kernel: Kernel, example: Any) -> int:
    """Bytes held by a kernel once it is fitted: it may get a width for each column of rows such as `example`."""
    return held_bytes(kernel.fitted(example))
