"""Weights of rows whose targets have outliers: noise from Student's t distribution (lange1989).

Noise with nu degrees of freedom and scale s is Gaussian noise of variance s^2 / w, where w differs from row to row.
Given an error e, the expected w is (nu + 1) / (nu + e^2 / s^2): about 1 for most rows, near 0 for an outlier. With
these weights, sums over rows are again those of a Gaussian process.
"""

import numpy as np
from scipy.special import gammaln

from modicum.rules.invariants import Array, Real
from modicum.state.part import Part

FREEDOMS = (2.0, 2.5, 3.0)  # with fewer, what the model cannot express counts as outliers; with more, little is gained
EVIDENCE = 0.1  # of log-likelihood per row that errors have tails; 0.33 to 2.7 with outliers, 0.07 without
TARGET_EVIDENCE = 0.02  # the same of targets: errors have tails too where a model fits most rows well
LEAST_SCALE = 1e-9  # of the largest ratio
STEPS = 30  # of the expectation-maximization for a scale
BULK = 9 / 3.84  # errors count up to three deviations, of which 95% lie within 1.96
OUTLIER = 0.1  # rows of a smaller weight are left out where hyper-parameters are fitted


class Tails(Part):
    """The degrees of freedom of the noise, and the weights of the validation rows."""

    _invariants = {"freedom": Real(1.0), "weights": Array("float64", "n_validation", above=0.0)}

    def __init__(self, freedom: float, weights: np.ndarray):
        self.freedom = freedom
        self.weights = weights


def errors_have_tails(ratios: np.ndarray) -> bool:
    return fit_freedom(ratios)[1] > EVIDENCE * len(ratios)


def targets_have_tails(y: np.ndarray) -> bool:
    return fit_freedom((y - np.median(y)) ** 2)[1] > TARGET_EVIDENCE * len(y)


def usual(y: np.ndarray) -> np.ndarray:
    """Positions of the targets that are no outliers among the others, whatever their rows; all without evidence."""
    of_targets = (y - np.median(y)) ** 2
    freedom, gain = fit_freedom(of_targets)
    if gain <= TARGET_EVIDENCE * len(y):
        return np.arange(len(y))
    return np.flatnonzero(tail_weights(of_targets, freedom, tail_scale(of_targets, freedom)) > OUTLIER)


def error_ratios(errors: np.ndarray) -> np.ndarray:
    """Squared errors relative to the variances predicted for them; columns as in `error_table`."""
    return errors[:, 0] / (errors[:, 1] + errors[:, 2])


def without_outliers(errors: np.ndarray) -> np.ndarray:
    """Errors whose outliers are brought to where Gaussian noise with as many rows within two deviations ends."""
    if not len(errors):
        return errors
    most = BULK * float(np.quantile(error_ratios(errors), 0.95))
    return np.column_stack([np.minimum(errors[:, 0], most * (errors[:, 1] + errors[:, 2])), errors[:, 1:]])


def tail_weights(ratios: np.ndarray, freedom: float, scale: float) -> np.ndarray:
    """Expected weights of rows, from squared errors relative to the variances predicted for them."""
    return (freedom + 1) / (freedom + ratios / scale)


def tail_scale(ratios: np.ndarray, freedom: float) -> float:
    """The likeliest factor of predicted variances for noise with these degrees of freedom."""
    least = LEAST_SCALE * float(ratios.max())  # where most errors are 0 there is no likeliest scale: it would vanish
    scale = max(float(np.median(ratios)), least) or 1.0
    for _ in range(STEPS):
        scale = max(float(np.mean(tail_weights(ratios, freedom, scale) * ratios)), least) or 1.0
    return scale


def fit_freedom(ratios: np.ndarray) -> tuple[float, float]:
    """The likeliest degrees of freedom, and by how much their log-likelihood is above that of Gaussian noise."""
    mean = float(np.mean(ratios))
    if not mean > 0:
        return FREEDOMS[-1], 0.0
    gaussian = -len(ratios) / 2 * (np.log(2 * np.pi * mean) + 1)
    return max(((nu, _log_likelihood(ratios, nu) - gaussian) for nu in FREEDOMS), key=lambda pair: pair[1])


def _log_likelihood(ratios: np.ndarray, freedom: float) -> float:
    scale = tail_scale(ratios, freedom)
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi * scale)
    return float(len(ratios) * constant - (freedom + 1) / 2 * np.log1p(ratios / (freedom * scale)).sum())
