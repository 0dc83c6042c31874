"""Loops over the items of documents. Those of document j are at indptr[j] .. indptr[j + 1].

An item has a weight and an index into the rows of `table`: its likelihoods under all topics, up to a factor.
"""

import math

import numpy as np

from modicum._jit import compiled, compiled_sums, inlined

TINY = 1e-300  # a divisor instead of 0
SERIES = 6.0  # from here on, the asymptotic series of digamma has 10 digits


@inlined
def digamma(x):
    """The derivative of log Gamma, for x > 0."""
    total = 0.0
    while x < SERIES:
        total -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square / 132.0))))
    return total + math.log(x) - 0.5 / x - series


@compiled_sums
def infer(indptr, indices, weights, table, alpha, max_iter, tol, after):
    """Write the posterior Dirichlet parameters of the proportions of each document to `after`, with topics held fixed.

    Iterates eq. 3.10 and 3.11 until the mean change is at most `tol`.
    """
    n_topics = len(alpha)
    factors, before = np.empty(n_topics), np.empty(n_topics)
    for j in range(after.shape[0]):
        total = 0.0
        for at in range(indptr[j], indptr[j + 1]):
            total += weights[at]
        for k in range(n_topics):
            after[j, k] = alpha[k] + total / n_topics
        for _ in range(max_iter):
            for k in range(n_topics):
                factors[k] = math.exp(digamma(after[j, k]))
                before[k] = after[j, k]
                after[j, k] = alpha[k]
            for at in range(indptr[j], indptr[j + 1]):
                row = indices[at]
                likelihood = TINY
                for k in range(n_topics):
                    likelihood += factors[k] * table[row, k]
                share = weights[at] / likelihood
                for k in range(n_topics):
                    after[j, k] += share * factors[k] * table[row, k]
            change = 0.0
            for k in range(n_topics):
                change += abs(after[j, k] - before[k])
            if change <= tol * n_topics:
                break


@compiled_sums
def mix(indptr, indices, table, out, proportions):
    """out[i] = likelihood of item i under the mixture of topics with the proportions of its document."""
    for j in range(len(proportions)):
        for at in range(indptr[j], indptr[j + 1]):
            row = indices[at]
            total = TINY
            for k in range(proportions.shape[1]):
                total += proportions[j, k] * table[row, k]
            out[at] = total


@compiled
def label(indptr, indices, table, out, proportions):
    """out[i] = the topic with the largest product of proportion and likelihood of item i."""
    for j in range(len(proportions)):
        for at in range(indptr[j], indptr[j + 1]):
            row, best = indices[at], 0
            for k in range(1, proportions.shape[1]):
                if proportions[j, k] * table[row, k] > proportions[j, best] * table[row, best]:
                    best = k
            out[at] = best


@compiled_sums
def best_sums(indptr, indices, weights, logs, proportions, out):
    """out[j, d] = sum over items of document j of max over topics k of logs[item, k] + proportions[d, k] (eq. 3.28)."""
    for j in range(out.shape[0]):
        for d in range(out.shape[1]):
            total = 0.0
            for at in range(indptr[j], indptr[j + 1]):
                row = indices[at]
                best = logs[row, 0] + proportions[d, 0]
                for k in range(1, logs.shape[1]):
                    value = logs[row, k] + proportions[d, k]
                    best = value if value > best else best
                total += weights[at] * best
            out[j, d] = total
