"""Predicted variances that fit the errors seen: rows are predicted before they are learned (dawid1984)."""

import numpy as np
from scipy.optimize import minimize

from modicum.rules.invariants import Array
from modicum.state.part import Part

WINDOW = 1024  # rows whose errors are remembered: their mean square is known to within a few percent
ENOUGH = 64  # rows from which factors say more than the model does
WIDEST = 10.0  # factors stay within exp(-10) .. exp(10)


class Calibration(Part):
    """Factors for the two parts of a predicted variance: of the function that is not known, and of the noise.

    A model of few active rows has its noise too low, as they were chosen for the rows it was fitted to, and its doubt
    about the function too high, as what the active rows can't express is in the noise already. Both are scaled to be
    most likely, given the errors of the latest rows that were predicted before they were learned.
    """

    _invariants = {
        "errors": Array("float64", None, 3, low=0.0),
    }

    def __init__(self) -> None:
        self.errors = np.empty((0, 3))

    def judge(self, squared_errors: np.ndarray, variances: np.ndarray, noise: float) -> None:
        """Errors of rows that have not been learned yet."""
        self.errors = np.concatenate([self.errors, error_table(squared_errors, variances, noise)])[-WINDOW:]

    def merge(self, other: "Calibration") -> None:
        """The latest of both sides, half of them from each."""
        half = WINDOW // 2
        self.errors = np.concatenate([other.errors[-half:], self.errors[-half:]])

    @property
    def mean_squared_error(self) -> float | None:
        return float(self.errors[:, 0].mean()) if len(self.errors) else None

    def factors(self) -> tuple[float, float] | None:
        """What to multiply variances of the function and of the noise with; None as long as there are few errors."""
        return None if len(self.errors) < ENOUGH else likeliest_factors(self.errors)


def likeliest_factors(errors: np.ndarray) -> tuple[float, float]:
    """Factors a, b that make squared errors e most likely, given their variances a v + b w; the columns are e, v, w."""
    squared, parts = errors[:, 0], errors[:, 1:]

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        scaled = parts * np.exp(logs)
        total = scaled.sum(axis=1)
        gradient = ((total - squared) / total**2) @ scaled
        return float(np.mean(np.log(total) + squared / total)), gradient / len(total)

    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-WIDEST, WIDEST)] * 2)
    of_function, of_noise = np.exp(found.x)
    return float(of_function), float(of_noise)


def error_table(squared_errors: np.ndarray, variances: np.ndarray, noise: float) -> np.ndarray:
    """Squared errors beside the variances of the function and of the noise there."""
    return np.column_stack([squared_errors, variances, np.full(len(variances), noise)])
