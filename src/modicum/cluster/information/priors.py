"""Expected proportions of the categories (gomes2010rim, section 5.6.2).

Departures. The thesis subtracts KL(q || D). Where q = D this is flat: a small category costs almost nothing to give up,
and the entropy of the labels and the penalty gain by it, so categories vanish that the proportions ask for. And an
exponent that is fitted to the sizes follows them: any power law has KL = 0, that of a single category too. So D enters
with half its logarithm, half-way between equal proportions and D, a power law is that of Zipf, with exponent 1, and
ranks are those of a maximum for equal proportions (see `solve.maximize`).
"""

from typing import Any

import numpy as np

from modicum.rules.params import Where

STRENGTH = 0.5  # of the expected proportions; 0: equal ones, 1: the thesis'
UNEXPECTED = 1e-3  # of the least given proportion: that of categories beyond the given ones


class Prior:
    """Expected proportions: equal ones, given ones, or a power law, where the r-th largest has a share as 1 / r.

    Given proportions are those of the categories by size: the largest category is expected to have the largest.
    """

    def __init__(self, proportions: Any = "uniform"):
        self.proportions = proportions

    @property
    def is_uniform(self) -> bool:
        return isinstance(self.proportions, str) and self.proportions in ("auto", "uniform")

    @property
    def is_ranked(self) -> bool:
        """Whether proportions are those of categories by size."""
        return not self.is_uniform

    @property
    def is_auto(self) -> bool:
        """Whether labels determine the proportions, if there are labels; otherwise they are equal."""
        return isinstance(self.proportions, str) and self.proportions == "auto"

    def log_proportions(self, sizes: np.ndarray) -> np.ndarray:
        """log d_k for categories of the present sizes; zeros for equal proportions, which need no term."""
        if self.is_uniform:
            return np.zeros(len(sizes))
        log_d = STRENGTH * np.log(self._falling(len(sizes)))
        log_d -= np.log(np.exp(log_d).sum())
        out = np.empty(len(sizes))
        out[np.argsort(-sizes, kind="stable")] = log_d
        return out

    def _falling(self, n: int) -> np.ndarray:
        """Shares of n categories from the largest to the smallest, up to a factor."""
        if isinstance(self.proportions, str):
            return 1.0 / np.arange(1, n + 1)
        given = np.sort(np.asarray(self.proportions, np.float64))[::-1]
        rest = max(UNEXPECTED * given[-1], np.finfo(np.float64).tiny)
        return np.append(given, np.full(max(0, n - len(given)), rest))[:n]


def _is_prior(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("auto", "uniform", "power law")
    try:
        given = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return False
    return given.ndim == 1 and len(given) > 0 and bool(np.isfinite(given).all() and (given > 0).all())


PRIOR = Where(_is_prior, '"auto", "uniform", "power law", or positive proportions, one per cluster')
