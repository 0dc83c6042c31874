"""Ridge regression in which rows count by Student's t distribution, so that outliers hardly do (lange1989)."""

import numpy as np

from modicum.regress.ridge import Ridge, solve_ridge
from modicum.regress.tails import fit_freedom, tail_scale, tail_weights, usual

STEPS = 10  # of the expectation-maximization: weights then change by about one percent


def solve_robust_ridge(
    features: np.ndarray,
    K: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    regularization: float | None,
    fit_intercept: bool,
) -> tuple[Ridge, np.ndarray]:
    """As `solve_ridge`, and the weights of rows as they are expected from their errors: near 0 for an outlier."""
    own = np.isin(np.arange(len(y)), usual(y)).astype(np.float64)
    for _ in range(STEPS):
        found = solve_ridge(features, K, y, weight * own, regularization, fit_intercept)
        errors = (y - found.intercept - features @ found.coef) ** 2
        freedom, _ = fit_freedom(errors)
        own = tail_weights(errors, freedom, tail_scale(errors, freedom))
    return found, own
