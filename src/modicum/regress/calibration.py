"""Calibration of predicted variances on rows that are predicted before they are learned (dawid1984)."""

import numpy as np
from scipy.optimize import minimize

from modicum.rules.invariants import Array
from modicum.state.part import Part

WINDOW = 1024  # latest rows whose errors are kept: enough to know their mean square to within a few percent
ROWS_TO_CALIBRATE = 64  # with fewer errors the factors are less reliable than the model's own variances
MAX_LOG_FACTOR = 10.0  # factors stay within exp(-10) .. exp(10)


class Calibration(Part):
    """Factors for the two terms of a predicted variance: that of the function and that of the noise.

    A model of few active rows underestimates the noise, as they were chosen for the rows it was fitted to, and
    overestimates the variance of the function, as the noise already covers what the active rows can't express. The
    factors maximize the likelihood of the errors of the latest rows, each predicted before it was learned.
    """

    _invariants = {
        "errors": Array("float64", None, 3, low=0.0),
    }

    def __init__(self) -> None:
        self.errors = np.empty((0, 3))

    def judge(self, squared_errors: np.ndarray, variances: np.ndarray, noise: float) -> None:
        """Add errors of rows that have not been learned yet."""
        self.errors = np.concatenate([self.errors, error_table(squared_errors, variances, noise)])[-WINDOW:]

    def fade(self, factor: float) -> None:
        """Drop the oldest errors, so that this share of them is left: they have no weights."""
        self.errors = self.errors[int(len(self.errors) * (1 - factor)) :]

    def merge(self, other: "Calibration") -> None:
        """Keep the latest errors of both sides, half of them from each."""
        half = WINDOW // 2
        self.errors = np.concatenate([other.errors[-half:], self.errors[-half:]])

    @property
    def mean_squared_error(self) -> float | None:
        return float(self.errors[:, 0].mean()) if len(self.errors) else None


def likeliest_factors(errors: np.ndarray) -> tuple[float, float]:
    """Factors a, b that maximize the likelihood of squared errors e of variance a v + b w; columns are e, v, w."""
    squared, variances = errors[:, 0], errors[:, 1:]

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = variances * np.exp(logs)
        total = scaled.sum(axis=1)
        gradient = ((total - squared) / total**2) @ scaled
        return float(np.mean(np.log(total) + squared / total)), gradient / len(total)

    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-MAX_LOG_FACTOR, MAX_LOG_FACTOR)] * 2)
    of_function, of_noise = np.exp(found.x)
    return float(of_function), float(of_noise)


def error_table(squared_errors: np.ndarray, variances: np.ndarray, noise: float) -> np.ndarray:
    """Squared errors, variances of the function and variances of the noise, as columns."""
    return np.column_stack([squared_errors, variances, np.full(len(variances), noise)])
