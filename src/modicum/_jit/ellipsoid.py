"""Rows in their order against mean and covariance of a weight vector (crammer2009, Figure 1, with 1 / cost for r)."""

import numpy as np

from modicum._jit import compiled_sums


@compiled_sums
def learn_diagonal(Z, sign, cost, mean, variance, decisions):
    """Learn dense rows; every weight has a variance of its own. Returns how many rows changed the weights."""
    changes = 0
    for i in range(Z.shape[0]):
        z = Z[i]
        decision = 0.0
        for j in range(z.shape[0]):
            decision += mean[j] * z[j]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0:
            spread = 0.0
            for j in range(z.shape[0]):
                spread += variance[j] * z[j] * z[j]
            gain = 1.0 / (spread + 1.0 / cost[i])
            step = gain * missing * sign[i]
            for j in range(z.shape[0]):
                u = variance[j] * z[j]
                mean[j] += step * u
                variance[j] -= gain * u * u
            changes += 1
    return changes


@compiled_sums
def learn_diagonal_sparse(data, indices, indptr, sign, cost, mean, variance, decisions):
    """The same for sparse rows."""
    changes = 0
    for i in range(indptr.shape[0] - 1):
        decision = spread = 0.0
        for a in range(indptr[i], indptr[i + 1]):  # both at once: waiting for memory is most of the work
            j = indices[a]
            decision += mean[j] * data[a]
            spread += variance[j] * data[a] * data[a]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0:
            gain = 1.0 / (spread + 1.0 / cost[i])
            step = gain * missing * sign[i]
            for a in range(indptr[i], indptr[i + 1]):
                j = indices[a]
                u = variance[j] * data[a]
                mean[j] += step * u
                variance[j] -= gain * u * u
            changes += 1
    return changes


@compiled_sums
def learn_full(Z, sign, cost, mean, S, decisions):
    """The same for dense rows and a whole matrix S of covariances."""
    changes = 0
    u = np.empty(mean.shape[0])
    for i in range(Z.shape[0]):
        z = Z[i]
        decision = 0.0
        for j in range(z.shape[0]):
            decision += mean[j] * z[j]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0:
            spread = 0.0
            for j in range(z.shape[0]):
                total = 0.0
                for k in range(z.shape[0]):
                    total += S[j, k] * z[k]
                u[j] = total
                spread += total * z[j]
            gain = 1.0 / (max(spread, 0.0) + 1.0 / cost[i])  # rounding may take it below 0
            step = gain * missing * sign[i]
            for j in range(z.shape[0]):
                mean[j] += step * u[j]
                for k in range(z.shape[0]):
                    S[j, k] -= gain * (u[j] * u[k])  # in this order S stays symmetric to the bit
            changes += 1
    return changes
