"""What is known of items and workers: a Gaussian for each, and the priors they share (gomes2011, eq. 7.3.4)."""

import numpy as np

from modicum.crowd.worker_models import basis, is_diagonal
from modicum.rules.invariants import Array, Real, Whole
from modicum.rules.params import OneOf
from modicum.state import Part

START_VARIANCE = 0.1  # of items, before the first update
SLIP_RATE = 0.05


class CrowdPosterior(Part):
    """Means and covariances of the items' positions and of the workers' coefficients, of which the last is the bias."""

    _invariants = {
        "model": OneOf("matrix", "reliability"),
        "n_dims": Whole(1),
        "mean": Array("float64", "n_items", "n_dims"),
        "covariance": Array("float64", "n_items", "n_dims", "n_dims"),
        "coefficient": Array("float64", "n_workers", "n_coefficients"),
        "coefficient_covariance": Array("float64", "n_workers", "n_coefficients", "n_coefficients"),
        "prior_mean": Array("float64", "n_coefficients"),
        "prior_variance": Array("float64", "n_coefficients", above=0),
        "item_variance": Real(above=0),
        "slip_rate": Real(0, 1),
        "bounds": Array("float64", None),
    }

    def __init__(self, model: str, mean: np.ndarray, n_workers: int, bias: float, *, pooled: bool, slips: bool):
        """A start: items at `mean`, and typical workers."""
        self.model, self.n_dims = model, mean.shape[1]
        self.mean = mean
        self.covariance = np.tile(START_VARIANCE * np.eye(self.n_dims), (len(mean), 1, 1))
        typical = np.append(is_diagonal(self.basis).astype(np.float64), bias)
        self.prior_mean = typical if pooled else np.zeros_like(typical)
        self.prior_variance = np.ones(len(typical))
        self.item_variance = 1.0
        self.slip_rate = SLIP_RATE if slips else 0.0
        self.coefficient = np.tile(typical, (n_workers, 1))
        self.coefficient_covariance = np.tile(0.01 * np.eye(len(typical)), (n_workers, 1, 1))
        self.bounds = np.empty(0)  # after each sweep

    @property
    def basis(self) -> np.ndarray:
        return basis(self.model, self.n_dims)

    def grown(self, mean: np.ndarray, n_workers: int) -> None:
        """Append new items at the positions `mean`, and typical workers."""
        D, more = self.n_dims, n_workers - len(self.coefficient)
        prior = self.item_variance * np.eye(D)
        self.mean = np.concatenate([self.mean, mean])
        self.covariance = np.concatenate([self.covariance, np.tile(prior, (len(mean), 1, 1))])
        self.coefficient = np.concatenate([self.coefficient, np.tile(self.prior_mean, (more, 1))])
        own = np.tile(np.diag(self.prior_variance), (more, 1, 1))
        self.coefficient_covariance = np.concatenate([self.coefficient_covariance, own])
