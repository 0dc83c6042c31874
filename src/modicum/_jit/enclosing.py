"""Loops of the smallest ball that encloses others (fischer2003, in the dual: only inner products are needed)."""

import math

import numpy as np

from modicum._jit import compiled, compiled_sums
from modicum._jit.linalg import delete_from_factor, solve_forward, times

EXCESS = 1e-13  # a ball may stick out this far, in units of the largest distance: hardly more than rounding
MOST_IDLE = 20  # steps without progress, after which the rest is rounding
LEAST_PIVOT = 1e-13  # of a center in the affine hull of others; weights then change a lot, and one of them becomes zero
FEW, ONE_IN = 16, 8  # up to 16 balls, or one in 8, join the tight set one by one; for more, a guess is faster
TRADES = 2  # per ball; after them, few of the balls with weight are not tight, and few others are
PANEL = 32  # rows of the factor at once: all before them are taken off by one product of matrices


@compiled
def enclose_two(square, own, other):
    """The smallest ball around two, by the squared distance of their centers and their radii.

    Returns the step of the center from the first to the second, as a fraction of the distance, and the radius.
    """
    distance = math.sqrt(max(square, 0.0))
    if distance + other <= own:
        return 0.0, own
    if distance + own <= other:
        return 1.0, other
    radius = 0.5 * (distance + own + other)
    return (radius - own) / distance, radius


@compiled_sums
def enclose(gram, radii, weights):
    """Write the convex weights that make the center out of the given ones; returns the radius.

    With the largest ball's center as origin, distances in units of the largest one, and gaps_i = its radius - radius_i,
    a ball that is larger than it by t encloses the others if |x - q_i| <= t + gaps_i. The weights maximize

        sum_i weights_i (|q_i|^2 - gaps_i^2 - 2 t gaps_i) - |x|^2 - t^2,    x = sum_i weights_i q_i

    and t is where that maximum is zero. For any weights at all, the t at which this expression is zero is a lower bound
    of it, and what a ball sticks out with is an upper one. So weights climb: to the maximum on the affine hull of the
    tight balls, or up to where a weight gets zero and its ball leaves them; the ball that sticks out most joins.
    Where many are tight, as points with slack of their own are, the climb is restarted from a guess of all weights.
    """
    n = len(radii)
    if n == 2:
        square = gram[0, 0] - gram[0, 1] - gram[1, 0] + gram[1, 1]
        weights[1], radius = enclose_two(square, radii[0], radii[1])
        weights[0] = 1.0 - weights[1]
        return radius
    first = np.argmax(radii)
    A, reach = gram_around(gram, first)
    gaps = np.zeros(n)
    protrusion = np.empty(n)  # |q_i|^2 - gaps_i^2: above zero for what sticks out of the largest ball
    put_all_on(first, weights)
    if reach == 0.0:
        return radii[first]
    for i in range(n):
        gaps[i] = (radii[first] - radii[i]) / reach
        length = math.sqrt(A[i, i])
        protrusion[i] = (length - gaps[i]) * (length + gaps[i])
    if not climb(A, gaps, protrusion, weights, max(FEW, n // ONE_IN)):
        trade(A, gaps, protrusion, weights)
        if not climb(A, gaps, protrusion, weights, n):  # no hull to start from
            put_all_on(first, weights)
            climb(A, gaps, protrusion, weights, n)
    return radius_around(A, radii, reach, weights)


@compiled
def put_all_on(first, weights):
    weights[:] = 0.0
    weights[first] = 1.0


@compiled_sums
def gram_around(gram, first):
    """Inner products seen from one of the centers, in squares of the distance to the farthest; and that distance."""
    n = len(gram)
    A = np.empty((n, n))
    farthest = 0.0
    for i in range(n):
        for j in range(n):
            A[i, j] = gram[i, j] - gram[i, first] - gram[first, j] + gram[first, first]
        A[i, i] = max(A[i, i], 0.0)
        farthest = max(farthest, A[i, i])
    if farthest > 0.0:
        A /= farthest
    return A, math.sqrt(farthest)


@compiled_sums
def trade(A, gaps, protrusion, weights):
    """Guess the weights: from even ones, weight moves from the ball that sticks out least to the one that does most.

    Each trade is the best one for these two and costs O(n); t tracks the lower bound.
    """
    n = len(gaps)
    weights[:] = 1.0 / n
    products = np.empty(n)
    square = times(A, n, weights, products)
    value, gap, slope = weights @ protrusion - square, weights @ gaps, protrusion - 2.0 * products
    for _ in range(TRADES * n):
        t = zero_of(value, gap)
        buyer, seller, most, least = 0, 0, -np.inf, np.inf
        for i in range(n):
            outside = slope[i] - 2.0 * t * gaps[i]
            if outside > most:
                buyer, most = i, outside
            if outside < least and weights[i] > 0.0:
                seller, least = i, outside
        between = A[buyer, buyer] - 2.0 * A[buyer, seller] + A[seller, seller]
        if between <= 0.0:
            break
        amount = min(weights[seller], 0.5 * (most - least) / between)
        value += amount * (slope[buyer] - slope[seller] - amount * between)
        gap += amount * (gaps[buyer] - gaps[seller])
        weights[buyer] += amount
        weights[seller] -= amount
        for i in range(n):
            slope[i] -= 2.0 * amount * (A[buyer, i] - A[seller, i])


@compiled_sums
def climb(A, gaps, protrusion, weights, most_tight):
    """Raise the lower bound until it meets the upper one, from weights that are given.

    Returns False if balls with weight are affinely dependent, or once more than `most_tight` of them are tight.
    """
    n = len(gaps)
    tight, U = np.empty(n, np.int64), np.empty((most_tight, most_tight))
    target, ones, products, excess = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    n_tight = settle(U, tight, A, gaps, protrusion, weights, target, ones)
    if n_tight == 0:
        return False
    is_tight = weights > 0.0
    best, least = weights.copy(), np.inf  # of the upper bounds: they may rise and fall
    t, idle, blocked = 0.0, 0, False
    while idle < MOST_IDLE:
        risen = max(t, lower_bound(A, tight, n_tight, gaps, protrusion, weights, products))
        idle = 0 if risen > t else idle + 1
        t = risen
        most = outermost(tight, n_tight, gaps, protrusion, weights, products, t, excess)
        met = excess[most] <= EXCESS
        if met or t + excess[most] < least:
            least = t + excess[most]
            best[:] = weights
        if met:
            break
        newcomer = -1 if blocked else outermost_other(is_tight, excess)
        if newcomer >= 0:
            if n_tight == most_tight:
                return False
            n_tight = join(U, tight, n_tight, A, newcomer)
            is_tight[newcomer] = True
        best_on_hull(U, tight, n_tight, gaps, protrusion, t, target, ones)
        leaver = move(tight, n_tight, target, weights)
        blocked = leaver >= 0
        if blocked:
            is_tight[tight[leaver]] = False
            delete_from_factor(U, n_tight, leaver, ones)
            tight[leaver : n_tight - 1] = tight[leaver + 1 : n_tight].copy()
            n_tight -= 1
    weights[:] = best / best.sum()
    return True


@compiled_sums
def settle(U, tight, A, gaps, protrusion, weights, target, ones):
    """Go to the best weights on the hull of the balls with weight; drop all that get none, until none does.

    The remaining ones are tight. Returns their number, or 0 if the balls are affinely dependent.
    """
    n = len(weights)
    tight[:] = np.arange(n)
    n_tight, n_weighty = 0, keep_weighty(tight, n, weights)
    t = lower_bound(A, tight, n_weighty, gaps, protrusion, weights, target)
    while n_tight != n_weighty:
        n_tight = n_weighty
        if not factor(U, tight, n_tight, A):
            return 0
        best_on_hull(U, tight, n_tight, gaps, protrusion, t, target, ones)
        for a in range(n_tight):
            weights[tight[a]] = max(target[a], 0.0)
        n_weighty = keep_weighty(tight, n_tight, weights)
    return n_tight


@compiled
def keep_weighty(tight, n_tight, weights):
    """Move tight balls with positive weight to the front; returns how many there are."""
    kept = 0
    for a in range(n_tight):
        if weights[tight[a]] > 0.0:
            tight[kept] = tight[a]
            kept += 1
    return kept


@compiled_sums
def factor(U, tight, n_tight, A):
    """The Cholesky factor of A + 1 on the tight set; False if it is not definite: centers are affinely dependent."""
    for a in range(n_tight):
        for b in range(a, n_tight):
            U[a, b] = A[tight[a], tight[b]] + 1.0
    for start in range(0, n_tight, PANEL):
        end = min(start + PANEL, n_tight)
        above = U[:start, start:n_tight].copy()
        U[start:end, start:n_tight] -= np.dot(above[:, : end - start].copy().T, above)
        for a in range(start, end):
            for c in range(start, a):
                part = U[c, a]
                for b in range(a, n_tight):
                    U[a, b] -= part * U[c, b]
            if not U[a, a] > LEAST_PIVOT:
                return False
            scale = 1.0 / math.sqrt(U[a, a])
            for b in range(a, n_tight):
                U[a, b] *= scale
    return True


@compiled_sums
def join(U, tight, n_tight, A, newcomer):
    """One more row of the factor, with a least pivot: the balls that the newcomer depends on will leave one by one."""
    column = np.empty(n_tight)
    for a in range(n_tight):
        column[a] = A[tight[a], newcomer] + 1.0
    solve_forward(U, n_tight, column)
    pivot = A[newcomer, newcomer] + 1.0
    for a in range(n_tight):
        U[a, n_tight] = column[a]
        pivot -= column[a] * column[a]
    U[n_tight, n_tight] = math.sqrt(max(pivot, LEAST_PIVOT))
    tight[n_tight] = newcomer
    return n_tight + 1


@compiled_sums
def lower_bound(A, tight, n_tight, gaps, protrusion, weights, products):
    """The t at which the weights' value is zero; products = A weights is written on the way."""
    products[:] = 0.0
    value, gap = 0.0, 0.0
    for a in range(n_tight):
        i = tight[a]
        value += weights[i] * protrusion[i]
        gap += weights[i] * gaps[i]
        for j in range(len(products)):
            products[j] += weights[i] * A[i, j]
    for a in range(n_tight):
        value -= weights[tight[a]] * products[tight[a]]
    return zero_of(value, gap)


@compiled
def zero_of(value, gap):
    """The t > 0 at which value - 2 t gap - t^2 is zero, or 0."""
    return value / (gap + math.sqrt(gap * gap + value)) if value > 0.0 else 0.0


@compiled_sums
def outermost(tight, n_tight, gaps, protrusion, weights, products, t, excess):
    """excess_i = |x - q_i| - (t + gaps_i), by the difference of their squares. Returns where it is largest."""
    square = 0.0
    for a in range(n_tight):
        square += weights[tight[a]] * products[tight[a]]
    for i in range(len(excess)):
        allowed = t + gaps[i]
        difference = protrusion[i] - 2.0 * t * gaps[i] - 2.0 * products[i] + square - t * t
        total = math.sqrt(max(difference + allowed * allowed, 0.0)) + allowed
        excess[i] = difference / total if total > 0.0 else 0.0
    return np.argmax(excess)


@compiled
def outermost_other(is_tight, excess):
    """The ball that sticks out most among those that are not tight, -1 if none does."""
    found, most = -1, EXCESS
    for i in range(len(excess)):
        if not is_tight[i] and excess[i] > most:
            found, most = i, excess[i]
    return found


@compiled_sums
def best_on_hull(U, tight, n_tight, gaps, protrusion, t, target, ones):
    """The weights of sum 1, of any sign, that are best on the tight balls for this t."""
    for a in range(n_tight):
        target[a] = protrusion[tight[a]] - 2.0 * t * gaps[tight[a]]
        ones[a] = 1.0
    solve(U, n_tight, target)
    solve(U, n_tight, ones)
    missing, total = 1.0, 0.0
    for a in range(n_tight):
        missing -= 0.5 * target[a]
        total += ones[a]
    for a in range(n_tight):
        target[a] = 0.5 * target[a] + missing / total * ones[a]


@compiled_sums
def solve(U, n, x):
    """Solve U'U x = b in place; x holds b at first."""
    solve_forward(U, n, x)
    for a in range(n - 1, -1, -1):
        rest = x[a]
        for b in range(a + 1, n):
            rest -= U[a, b] * x[b]
        x[a] = rest / U[a, a]


@compiled
def move(tight, n_tight, target, weights):
    """Go to the target, or until a weight gets zero; returns the tight ball whose weight that is, or -1."""
    step, leaver = 1.0, -1
    for a in range(n_tight):
        weight = weights[tight[a]]
        if target[a] < 0.0 and weight <= step * (weight - target[a]):
            step, leaver = weight / (weight - target[a]), a
    for a in range(n_tight):
        weights[tight[a]] += step * (target[a] - weights[tight[a]])
    if leaver >= 0:
        weights[tight[leaver]] = 0.0
    return leaver


@compiled_sums
def radius_around(A, radii, reach, weights):
    """The radius that a ball needs, with these weights, to enclose all."""
    n = len(radii)
    products, square, radius = np.zeros(n), 0.0, 0.0
    for i in range(n):
        if weights[i] != 0.0:
            for j in range(n):
                products[j] += weights[i] * A[i, j]
    for i in range(n):
        square += weights[i] * products[i]
    for i in range(n):
        distance = math.sqrt(max(square - 2.0 * products[i] + A[i, i], 0.0))
        radius = max(radius, reach * distance + radii[i])
    return radius
