"""Loops that learn mean and covariance of a weight vector row by row (crammer2009, Figure 1, with 1 / cost for r)."""

import numpy as np

from modicum._jit import compiled_sums, inlined


@inlined
def is_certain(missing, spread, deviations):
    """Whether a decision is on the correct side by so many of its standard deviations (dredze2008); never for 0."""
    margin = 1.0 - missing
    return deviations > 0.0 and margin > 0.0 and margin * margin >= deviations * deviations * spread


@compiled_sums
def learn_diagonal(Z, sign, cost, mean, variance, decisions, deviations):
    """Learn dense rows with a variance for each weight. Returns how many rows changed the weights.

    Rows that violate the margin are learned; but those are skipped that are certain by `deviations`.
    """
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
            if is_certain(missing, spread, deviations):
                continue
            gain = 1.0 / (spread + 1.0 / cost[i])
            step = gain * missing * sign[i]
            for j in range(z.shape[0]):
                u = variance[j] * z[j]
                mean[j] += step * u
                left = variance[j] - gain * u * u
                variance[j] = 0.0 if left < 0.0 else left  # rounding must not make it negative
            changes += 1
    return changes


@compiled_sums
def learn_diagonal_sparse(data, indices, indptr, sign, cost, table, decisions, deviations):
    """The same for sparse rows; the columns of `table` are means and variances."""
    changes = 0
    for i in range(indptr.shape[0] - 1):
        z, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        decision = spread = 0.0
        for a in range(z.shape[0]):  # both together: memory access takes most of the time
            decision += table[at[a], 0] * z[a]
            spread += table[at[a], 1] * z[a] * z[a]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0 and not is_certain(missing, spread, deviations):
            gain = 1.0 / (spread + 1.0 / cost[i])
            step = gain * missing * sign[i]
            for a in range(z.shape[0]):
                u = table[at[a], 1] * z[a]
                table[at[a], 0] += step * u
                left = table[at[a], 1] - gain * u * u
                table[at[a], 1] = 0.0 if left < 0.0 else left
            changes += 1
    return changes


@compiled_sums
def learn_full(Z, sign, cost, mean, S, decisions, deviations):
    """The same for dense rows and a full covariance matrix S."""
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
            if spread < 0.0:  # by rounding: after an outlier, S may have no digits left in this direction
                continue
            if is_certain(missing, spread, deviations):
                continue
            gain = 1.0 / (spread + 1.0 / cost[i])
            step = gain * missing * sign[i]
            for j in range(z.shape[0]):
                mean[j] += step * u[j]
                for k in range(z.shape[0]):
                    S[j, k] -= gain * (u[j] * u[k])
            changes += 1
    return changes


@compiled_sums
def learn_constant(Z, sign, cost, weights, decisions):
    """Learn dense rows with the identity as covariance, whatever was learned (crammer2006, PA-II)."""
    changes = 0
    for i in range(Z.shape[0]):
        z = Z[i]
        decision = spread = 0.0
        for j in range(z.shape[0]):
            decision += weights[j] * z[j]
            spread += z[j] * z[j]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0:
            step = missing * sign[i] / (spread + 1.0 / cost[i])
            for j in range(z.shape[0]):
                weights[j] += step * z[j]
            changes += 1
    return changes


@compiled_sums
def learn_constant_sparse(data, indices, indptr, sign, cost, weights, decisions):
    """The same for sparse rows."""
    changes = 0
    for i in range(indptr.shape[0] - 1):
        z, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        decision = spread = 0.0
        for a in range(z.shape[0]):
            decision += weights[at[a]] * z[a]
            spread += z[a] * z[a]
        decisions[i] = decision
        missing = 1.0 - sign[i] * decision
        if missing > 0.0:
            step = missing * sign[i] / (spread + 1.0 / cost[i])
            for a in range(z.shape[0]):
                weights[at[a]] += step * z[a]
            changes += 1
    return changes
