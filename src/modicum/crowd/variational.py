"""Variational inference of items and workers (gomes2011, eqs. 7.3.8 and 7.3.9, with corrected expectations).

Departures from the thesis:

- Covariances of items and of coefficients of workers are full: the bound is tighter and the updates are simpler.
- Workers are pooled: their coefficients have a prior whose variances, and mean bias, are learned; a typical W_j is the
  identity, which fixes the coordinates of the items, and the variance of items is learned.
- Slips: a worker may put an item in a random group. All labels of that item in that answer then say nothing, rather
  than many times the wrong thing. A slip is a binary variable for each item of each answer.
"""

import math

import numpy as np

from modicum._jit.crowd import activities, sum_workers, tighten, update_items, update_slips, weigh
from modicum.crowd.activity import second_moments, worker_moments
from modicum.crowd.posterior import CrowdPosterior
from modicum.crowd.progress import report
from modicum.crowd.views import Views
from modicum.crowd.worker_models import is_diagonal

LEAST_VARIANCE = 0.1  # of coefficients; with few answers, variances would shrink to zero, and never grow again
LEAST_ITEM_VARIANCE = 1.0  # likewise: all items would be in one place
PRIOR_SLIPS, PRIOR_PLACED = 1.0, 19.0  # of a Beta distribution of the slip rate
FIRST_PRIORS, FIRST_SLIPS = 3, 8  # sweeps after which priors and slips are updated; before, items are not in place
TINY = 1e-12


class Inference:
    """Updates of a posterior given labels. Each raises the bound, or leaves it as it is."""

    def __init__(self, views: Views, posterior: CrowdPosterior, *, pooled: bool, slips: bool):
        self._views, self.posterior = views, posterior
        self._pooled, self._slips = pooled, slips
        D = posterior.n_dims
        self._mu = posterior.mean.copy()
        self._cov = posterior.covariance.reshape(-1, D * D).copy()
        self._P = second_moments(posterior.mean, posterior.covariance)
        self._log_det = np.linalg.slogdet(posterior.covariance)[1]
        self._work = np.empty((6, D * D))
        self._steady = np.full(views.n_views, 1 - posterior.slip_rate)
        n = views.n_labels
        self._mean, self._square, self._delta = np.empty(n), np.empty(n), np.empty(n)
        self._curvature, self._offset = np.empty(n), np.empty(n)
        self._trust, self._curve, self._half = np.empty(n), np.empty(n), np.empty(n)
        share = views.shares_together()[views.worker]
        self._unexplained = np.log(np.where(views.label > 0, share, 1 - share))  # log p(l_t) if there was a slip
        self._expect_workers()
        self.update_curvature()

    def run(self, max_iter: int, tol: float, *, warm: bool = False) -> None:
        """Sweeps until the bound rises by less than `tol` per item; `warm` if items are in place already."""
        bounds = [] if warm else self.posterior.bounds.tolist()
        for sweep in range(max_iter):
            report(sweep / max_iter, f"fitting, sweep {len(bounds) + 1}")
            self.update_items()
            self.update_curvature()
            self.update_workers()
            self.update_curvature()
            if self._pooled and (warm or len(bounds) >= FIRST_PRIORS):
                self.update_priors()
            if self._slips and (warm or len(bounds) >= FIRST_SLIPS):
                self.update_slips()
            bounds.append(self.bound())
            if not math.isfinite(bounds[-1]):
                raise FloatingPointError("the bound is not finite")
            if len(bounds) > FIRST_SLIPS + 1 and bounds[-1] - bounds[-2] < tol * self._views.n_items:
                break
        self._write_back(bounds)

    # ---- updates ---------------------------------------------------------------------------------

    def update_items(self) -> None:
        """q(x_i) of all items, one after another."""
        M, G, T = self._moments[:3]
        given = *self._by_view(), self._half, self._curve, M, G, T, self.posterior.item_variance
        update_items(*given, self._mu, self._cov, self._P, self._log_det, self._work)

    def update_workers(self) -> None:
        """q(c_j, tau_j) of all workers."""
        p, D, J = self.posterior, self.posterior.n_dims, self._views.n_workers
        K, H, R = np.zeros((J, D * D, D * D)), np.zeros((J, D * D)), np.zeros((J, D * D))
        sum_workers(*self._by_view(), self._half, self._curve, self._mu, self._P, self._work, K, H, R)
        B = p.basis.reshape(-1, D * D)
        # K has P_a x P_b by pairs of entries: sum_m c_m x_a^T B_m x_b, squared, needs entries (d, p) and (f, q)
        K = K.reshape(J, D, D, D, D).transpose(0, 1, 3, 2, 4).reshape(J, D * D, D * D)
        n = len(B)
        precision, shift = np.empty((J, n + 1, n + 1)), np.empty((J, n + 1))
        precision[:, :n, :n] = 0.5 * (B @ K @ B.T)
        precision[:, :n, n] = precision[:, n, :n] = 0.5 * (R @ B.T)
        precision[:, n, n] = np.bincount(self._views.worker, self._curve, J)
        shift[:, :n] = 0.5 * (H @ B.T)
        shift[:, n] = np.bincount(self._views.worker, self._half, J)
        precision += np.diag(1 / p.prior_variance)
        covariance = np.linalg.inv(0.5 * (precision + precision.transpose(0, 2, 1)))
        p.coefficient_covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        p.coefficient = (p.coefficient_covariance @ (shift + p.prior_mean / p.prior_variance)[:, :, None])[:, :, 0]
        self._expect_workers()

    def update_curvature(self) -> None:
        """Delta_t of all labels."""
        self._expect_labels()
        tighten(self._square, self._delta, self._curvature, self._offset)
        self._weigh()

    def update_priors(self) -> None:
        """The mean bias, the variances of coefficients (one for all of a kind) and the variance of items."""
        p = self.posterior
        p.prior_mean[-1] = p.coefficient[:, -1].mean()
        spread = self._spread_of_workers().mean(axis=0)
        for kind in self._kinds_of_coefficients():
            p.prior_variance[kind] = max(spread[kind].mean(), LEAST_VARIANCE)
        p.item_variance = max(self._square_of_items() / self._mu.size, LEAST_ITEM_VARIANCE)

    def update_slips(self) -> None:
        """The probability of a slip for each item of each answer, and the rate of slips."""
        p, v = self.posterior, self._views
        gain = np.abs(v.label) * (self._explained() - self._unexplained)
        odds = math.log((1 - p.slip_rate) / p.slip_rate)
        update_slips(v.start, v.edge, v.other_view, gain, odds, self._steady)
        p.slip_rate = float((v.n_views - self._steady.sum() + PRIOR_SLIPS) / (v.n_views + PRIOR_SLIPS + PRIOR_PLACED))
        self._weigh()

    def bound(self) -> float:
        """The lower bound of the log-evidence (eq. 7.3.8); Delta_t need not be the best ones."""
        p, v = self.posterior, self._views
        gain = self._explained() - self._unexplained
        total = np.abs(v.label) @ (self._trust * gain + self._unexplained)
        total -= 0.5 * (
            self._square_of_items() / p.item_variance
            + self._mu.size * (math.log(p.item_variance) - 1)
            - self._log_det.sum()
        )
        total -= 0.5 * (
            (self._spread_of_workers() / p.prior_variance + np.log(p.prior_variance) - 1).sum()
            - np.linalg.slogdet(p.coefficient_covariance)[1].sum()
        )
        return float(total + self._bound_of_slips())

    # ---- parts -----------------------------------------------------------------------------------

    def _expect_labels(self) -> None:
        """E[A_t] and E[A_t^2] of all labels."""
        items = self._mu, self._P, self._work
        activities(*self._by_view(), self._views.first, *self._moments, *items, self._mean, self._square)

    def _explained(self) -> np.ndarray:
        """The bound of E[log p(l_t)] of each label without a slip (eq. 7.3.7)."""
        slack = 0.5 * self._curvature * (self._square - self._delta**2)
        return 0.5 * np.sign(self._views.label) * self._mean + self._offset - slack

    def _bound_of_slips(self) -> float:
        if not self._slips:
            return 0.0
        rate, steady = self.posterior.slip_rate, np.clip(self._steady, TINY, 1 - TINY)
        total = steady @ np.log((1 - rate) / steady) + (1 - steady) @ np.log(rate / (1 - steady))
        return float(total + PRIOR_SLIPS * math.log(rate) + PRIOR_PLACED * math.log(1 - rate))

    def _weigh(self) -> None:
        """Weigh labels by the probability that neither of their items was placed by a slip."""
        v = self._views
        given = v.label, self._curvature, self._steady, v.first_view, v.second_view
        weigh(*given, self._trust, self._curve, self._half)

    def _spread_of_workers(self) -> np.ndarray:
        """E[(c_j - prior mean)^2], entry by entry."""
        p = self.posterior
        variance = np.diagonal(p.coefficient_covariance, axis1=1, axis2=2)
        return variance + (p.coefficient - p.prior_mean) ** 2

    def _square_of_items(self) -> float:
        D = self.posterior.n_dims
        return float(self._P[:, :: D + 1].sum())

    def _kinds_of_coefficients(self) -> list[np.ndarray]:
        """Which coefficients have a variance in common: those of the diagonal, the others, and the bias."""
        diagonal = np.append(is_diagonal(self.posterior.basis), False)
        bias = np.arange(len(diagonal)) == len(diagonal) - 1
        return [kind for kind in (diagonal, ~diagonal & ~bias, bias) if kind.any()]

    def _expect_workers(self) -> None:
        self._moments = worker_moments(self.posterior)

    def _by_view(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        v = self._views
        return v.item_start, v.view_worker, v.start, v.other, v.edge

    def _write_back(self, bounds: list[float]) -> None:
        p = self.posterior
        p.mean, p.bounds = self._mu.copy(), np.array(bounds)
        covariance = self._cov.reshape(-1, p.n_dims, p.n_dims)
        p.covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
