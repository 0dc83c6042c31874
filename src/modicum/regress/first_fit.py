"""Kernel and regularization found from the first rows of a stream and their targets (rasmussen2006, section 5.4.1)."""

from typing import Any

import numpy as np

from modicum.kernels import Kernel, Scaled
from modicum.regress.gp_settings import GPSettings

NOT_EXPRESSED = 10.0  # times the fitted noise, as few prototypes leave more of the targets unexplained than all rows do
LEAST, LARGEST = 1e-6, 10.0  # regularizations that are fitted


def fit_to_targets(kernel: Kernel, X: Any, y: np.ndarray) -> tuple[Kernel, float]:
    """The kernel, without a scale, and the regularization for it: the variance of noise over that of the signal.

    Both maximize the likelihood of a Gaussian process of all rows; what few of them can't express is then added.
    """
    found, noise, _ = GPSettings(len(y), kernel, None, False, 0.0).fit_exact(X, y)
    assert isinstance(found, Scaled)  # by the variance of the signal
    return found.kernel, float(np.clip(NOT_EXPRESSED * noise / found.scale, LEAST, LARGEST))
