"""Which clusters a worker puts together (gomes2011, eqs. 7.3.10, 7.3.11 and 7.7.5, corrected)."""

import numpy as np

from modicum.crowd.activity import probability, second_moments, worker_moments
from modicum.crowd.posterior import CrowdPosterior


def confusions(posterior: CrowdPosterior, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """For each worker, the probability that items of clusters k and l are put in one group: (n_workers, k, k)."""
    M, G, T, tau, tau2 = worker_moments(posterior)
    D = posterior.n_dims
    P = second_moments(means, covariances)
    mean = means @ M.reshape(-1, D, D) @ means.T + tau[:, None, None]
    square = P @ T @ P.T + 2 * (means @ G.reshape(-1, D, D) @ means.T) + tau2[:, None, None]
    return probability(mean, square)
