"""The loop of kernel recursive least squares (engel2004, Table 1; vanvaerenbergh2012, Algorithm 1).

Names: M kernel matrix of the dictionary and Q its inverse; mean and P the mean and covariance of the function's values
there; all have room for more than their n rows. Of a new row: k its kernel values against the dictionary, h = Q k its
weights there, delta the part of its own kernel value that the dictionary does not explain.
"""

import math

import numpy as np

from modicum._jit import compiled, inlined
from modicum._jit.linalg import project, replace_row, times


@compiled
def learn_rows(K, between, own, y, noise, threshold, regularization, decay, limit, M, Q, P, mean, n, holder):
    """Learn rows in turn. Rows that the dictionary explains badly join it; once it is full, they replace another one.

    Before each row, the values return to the prior by `decay`; 1.0 is for none.

    K (rows x room) holds kernel values against the dictionary; those of rows that join are copied from `between`. `own`
    are kernel values of rows with themselves, `noise` the variance of each target. holder[slot] becomes the last row
    put into the slot. Returns the size of the dictionary and the increase of log det M.
    """
    log_det = 0.0
    room = mean.shape[0]
    h, Ph, zeros = np.empty(room), np.empty(room), np.empty(room)
    for a in range(room):
        h[a] = Ph[a] = zeros[a] = 0.0
    for i in range(y.shape[0]):
        k = K[i]
        if decay < 1.0:
            return_to_prior(P, mean, M, n, decay, regularization)
        delta = own[i] - times(Q, n, k, h)
        hPh = times(P, n, h, Ph)
        value = 0.0
        for a in range(n):
            value += h[a] * mean[a]
        error = y[i] - value
        if delta <= threshold * own[i]:
            observe(P, mean, n, Ph, 1.0 / (noise[i] + hPh), error)
            continue
        # Given the dictionary, the prior variance of the row is delta / regularization. Everything is multiplied by the
        # regularization: it may be 0, and the row then takes the value y.
        total = regularization * (noise[i] + hPh) + delta
        value += error * (regularization * hPh + delta) / total
        observe(P, mean, n, Ph, regularization / total, error)
        slot = n if n < limit else least_needed(Q, mean, n, h, delta, value)
        if n == limit and slot == n:
            continue
        if slot == n:
            n += 1
            put_row(Q, n, slot, zeros, 1.0)
            pivot = delta
            log_det += math.log(pivot)
        else:
            k[slot] = 0.0
            pivot = own[i] - project(Q, n, slot, k, h)
            pivot = pivot if pivot > delta else delta  # without another row, it can only be larger
            log_det += math.log(pivot * Q[slot, slot])
        replace_row(Q, n, slot, h, pivot, zeros, zeros)
        put_row(M, n, slot, k, own[i])
        for a in range(n):
            Ph[a] *= noise[i] * regularization / total
        put_row(P, n, slot, Ph, noise[i] * (regularization * hPh + delta) / total)
        mean[slot] = value
        holder[slot] = i
        for later in range(i + 1, y.shape[0]):
            K[later, slot] = between[later, i]
    return n, log_det


@compiled
def return_to_prior(P, mean, M, n, decay, regularization):
    """Forget a little (vanvaerenbergh2012, "back to the prior"): P <- decay P + (1 - decay) M / regularization."""
    rest, shrunk = (1.0 - decay) / regularization, math.sqrt(decay)
    for a in range(n):
        mean[a] *= shrunk
        for b in range(n):
            P[a, b] = decay * P[a, b] + rest * M[a, b]


@compiled
def observe(P, mean, n, Ph, gain, error):
    """Update mean and covariance by a value that the mean missed by `error`."""
    for a in range(n):
        mean[a] += gain * error * Ph[a]
        for b in range(n):
            P[a, b] -= gain * (Ph[a] * Ph[b])


@compiled
def put_row(M, n, j, row, corner):
    """Write row and column j of a symmetric matrix; entry j of `row` is ignored."""
    for a in range(n):
        if a != j:
            M[j, a] = M[a, j] = row[a]
    M[j, j] = corner


@inlined
def least_needed(Q, mean, n, h, delta, value):
    """The slot that a newcomer should replace, n for none.

    The others predict slot j with an error of (Q mean)_j / Q_jj, where Q and mean have the newcomer's row at their end:
    h are its weights, `value` is its value, delta the unexplained part of its kernel value. The slot with the smallest
    error is replaced, among those with a smaller unexplained part (1 / Q_jj) than the newcomer.
    """
    weights = np.empty(n)
    times(Q, n, mean, weights)
    predicted = 0.0
    for a in range(n):
        predicted += h[a] * mean[a]
    weight = (value - predicted) / delta
    slot, least = n, abs(weight * delta)
    for j in range(n):
        precision = Q[j, j] + h[j] * h[j] / delta
        error = abs((weights[j] - h[j] * weight) / precision)
        if error < least and precision * delta > 1.0:
            slot, least = j, error
    return slot
