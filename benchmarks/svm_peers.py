"""One-pass machines for two classes, written from their papers: Pegasos (shalevshwartz2007) and LASVM (bordes2005)."""

import numpy as np
from numba import njit


class LinearModel:
    """What is left of a learner after its pass."""

    def predict(self, X):
        return np.where(X @ self.coef_ + self.intercept_ > 0, 1, -1)


class Pegasos(LinearModel):
    """Figure 1 of shalevshwartz2007, blocks of k rows; the intercept is the weight of a constant column."""

    def __init__(self, k, regularization, fit_intercept):
        self.k, self.regularization, self.fit_intercept = k, regularization, fit_intercept

    def fit(self, X, y):
        rows = np.hstack([X, np.full((len(X), 1), float(self.fit_intercept))])
        w = pegasos_weights(rows, y.astype(np.float64), self.regularization, self.k)
        self.coef_, self.intercept_ = w[:-1], w[-1] * self.fit_intercept
        return self


@njit(cache=True, fastmath=True)
def pegasos_weights(X, y, regularization, k):
    """One sweep over the rows: sub-gradient steps, each followed by a projection."""
    w = np.zeros(X.shape[1])
    inside = np.zeros(k, np.bool_)  # the margin
    for t, start in enumerate(range(0, len(X), k)):
        end, rate = min(start + k, len(X)), 1 / (regularization * (t + 1))
        for i in range(start, end):
            inside[i - start] = y[i] * np.dot(w, X[i]) < 1
        w *= 1 - rate * regularization
        for i in range(start, end):
            if inside[i - start]:
                w += rate / (end - start) * y[i] * X[i]
        norm = np.sqrt(regularization * np.dot(w, w))
        if norm > 1:
            w /= norm
    return w


class LASVM(LinearModel):
    """Section 3.2 of bordes2005 for the linear kernel: one pass, then its finishing steps on the rows it kept."""

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        seeds = np.concatenate([np.flatnonzero(y == sign)[:5] for sign in (1, -1)])
        finishing = len(X)  # at most: where classes overlap it would take minutes
        self.coef_, self.intercept_, self.n_kept_ = lasvm(X, y.astype(np.float64), seeds, self.C, 1e-3, finishing)
        return self


@njit(cache=True)
def lasvm(X, y, seeds, C, tau, most_finishing_steps):
    """Weights, intercept and the number of rows kept."""
    kept = np.empty(len(X), np.int64)
    alpha, gradient = np.zeros(len(X)), y.copy()
    w = np.zeros(X.shape[1])
    m = len(seeds)
    kept[:m] = seeds
    is_seed = np.zeros(len(X), np.bool_)
    is_seed[seeds] = True
    for k in range(len(X)):
        if is_seed[k]:
            continue
        gradient[k] = y[k] - np.dot(w, X[k])
        kept[m] = k
        m += 1
        i, j = extremes(kept[:m], alpha, gradient, y, C)
        if y[k] > 0:
            step(k, j, kept[:m], X, alpha, gradient, w, y, C, tau)
        else:
            step(i, k, kept[:m], X, alpha, gradient, w, y, C, tau)
        m, _ = reprocess(kept, m, X, alpha, gradient, w, y, C, tau)
    for _ in range(most_finishing_steps):
        m, gap = reprocess(kept, m, X, alpha, gradient, w, y, C, tau)
        if gap <= tau:
            break
    i, j = extremes(kept[:m], alpha, gradient, y, C)
    return w, (gradient[i] + gradient[j]) / 2, m


@njit(cache=True)
def extremes(kept, alpha, gradient, y, C):
    """The row whose coefficient should rise most and the one whose should fall most, of those that can."""
    i = j = -1
    for s in kept:
        if alpha[s] < max(0.0, C * y[s]) and (i < 0 or gradient[s] > gradient[i]):
            i = s
        if alpha[s] > min(0.0, C * y[s]) and (j < 0 or gradient[s] < gradient[j]):
            j = s
    return i, j


@njit(cache=True, fastmath=True)
def step(i, j, kept, X, alpha, gradient, w, y, C, tau):
    """Move the coefficients of a violating pair along their common direction."""
    if i < 0 or j < 0 or gradient[i] - gradient[j] <= tau:
        return
    direction = X[i] - X[j]
    size = (gradient[i] - gradient[j]) / max(np.dot(direction, direction), 1e-12)
    size = min(size, max(0.0, C * y[i]) - alpha[i], alpha[j] - min(0.0, C * y[j]))
    alpha[i] += size
    alpha[j] -= size
    direction *= size
    w += direction
    for s in kept:
        fall = 0.0
        for c in range(X.shape[1]):  # short rows: a call of BLAS for each would take longer
            fall += direction[c] * X[s, c]
        gradient[s] -= fall


@njit(cache=True)
def reprocess(kept, m, X, alpha, gradient, w, y, C, tau):
    """A step on the most violating pair kept, then rows without influence on the solution are dropped."""
    i, j = extremes(kept[:m], alpha, gradient, y, C)
    if i < 0 or j < 0:
        return m, np.inf
    step(i, j, kept[:m], X, alpha, gradient, w, y, C, tau)
    i, j = extremes(kept[:m], alpha, gradient, y, C)
    stay = 0
    for s in kept[:m]:
        idle = alpha[s] == 0 and (
            (y[s] < 0 and gradient[s] >= gradient[i]) or (y[s] > 0 and gradient[s] <= gradient[j])
        )
        if not idle:
            kept[stay] = s
            stay += 1
    return stay, gradient[i] - gradient[j]
