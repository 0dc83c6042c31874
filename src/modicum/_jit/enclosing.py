"""Loops of the smallest ball that encloses others (fischer2003, in the dual: only inner products are needed)."""

import math

import numpy as np

from modicum._jit import compiled, compiled_sums, inlined
from modicum._jit.linalg import delete_from_factor, solve_forward, times

EXCESS = 1e-13  # how far a ball may stick out, in units of the largest distance: little more than rounding
MOST_IDLE = 20  # steps without progress, after which only rounding errors are left
LEAST_PIVOT = 1e-13  # of a center in the affine hull of others; weights then take long steps, and one becomes zero
FEW, FRACTION = 16, 8  # up to 16 tight balls, or one in 8, join one by one; a guess of all weights is faster for more
TRADES = 2  # per ball; after them, nearly all balls with weight are tight, and nearly all others are not
PANEL = 32  # rows of the factor computed together: earlier rows are subtracted by one matrix product


@compiled
def enclose_two(square, own, other):
    """The smallest ball around two, by the squared distance of their centers and their radii.

    Returns the position of its center, as a share of the way from the first center to the second, and its radius.
    """
    distance = 0.0 if square < 0.0 else math.sqrt(square)
    if distance + other <= own:
        return 0.0, own
    if distance + own <= other:
        return 1.0, other
    radius = 0.5 * (distance + own + other)
    return (radius - own) / distance, radius


@compiled_sums
def enclose(gram, radii, weights):
    """Write the convex weights of the given centers in the center of the smallest ball; returns its radius.

    With the largest ball's center as origin, distances in units of the largest one, and gaps_i = its radius - radius_i,
    a ball that is larger than it by t encloses the others if |x - q_i| <= t + gaps_i. The weights maximize

        sum_i weights_i (|q_i|^2 - gaps_i^2 - 2 t gaps_i) - |x|^2 - t^2,    x = sum_i weights_i q_i

    and t is where that maximum is zero. For any weights, the t at which this expression is zero is a lower bound of
    it, and t plus the largest distance by which a ball sticks out is an upper one. Each step moves the weights to the
    maximum on the affine hull of the tight balls, or until a weight becomes zero and its ball is dropped; then the ball
    that sticks out most joins. Where many are tight (such as points with slack of their own), the steps start again
    from a guess of all weights.
    """
    n = len(radii)
    if n == 2:
        square = gram[0, 0] - gram[0, 1] - gram[1, 0] + gram[1, 1]
        weights[1], radius = enclose_two(square, radii[0], radii[1])
        weights[0] = 1.0 - weights[1]
        return radius
    first = largest_of(radii)
    A = np.empty((n, n))
    reach = gram_around(gram, first, A)
    gaps, protrusion = np.empty(n), np.empty(n)  # |q_i|^2 - gaps_i^2: positive for balls that stick out of the largest
    put_all_on(first, weights)
    if reach == 0.0:
        return radii[first]
    for i in range(n):
        gaps[i] = (radii[first] - radii[i]) / reach
        length = math.sqrt(A[i, i])
        protrusion[i] = (length - gaps[i]) * (length + gaps[i])
    most_tight = n // FRACTION if n // FRACTION > FEW else FEW
    for attempt in range(3):
        if climb(A, gaps, protrusion, weights, most_tight):
            break
        most_tight = n
        if attempt == 0:
            trade(A, gaps, protrusion, weights)
        else:  # the guess is affinely dependent
            put_all_on(first, weights)
    return radius_around(A, radii, reach, weights)


@compiled
def largest_of(values):
    """Where the largest value is."""
    at = 0
    for i in range(1, len(values)):
        if values[i] > values[at]:
            at = i
    return at


@inlined
def put_all_on(first, weights):
    """Give all weight to one ball."""
    for i in range(len(weights)):
        weights[i] = 1.0 if i == first else 0.0


@inlined
def gram_around(gram, first, A):
    """A = inner products with one center as the origin, in units of the squared distance to the farthest; returns that.

    The distance itself is returned, 0 if all centers are the same.
    """
    n = len(gram)
    farthest = 0.0
    for i in range(n):
        for j in range(n):
            A[i, j] = gram[i, j] - gram[i, first] - gram[first, j] + gram[first, first]
        A[i, i] = 0.0 if A[i, i] < 0.0 else A[i, i]
        farthest = A[i, i] if A[i, i] > farthest else farthest
    if farthest > 0.0:
        for i in range(n):
            for j in range(n):
                A[i, j] /= farthest
    return math.sqrt(farthest)


@compiled_sums
def trade(A, gaps, protrusion, weights):
    """Guess the weights: from equal ones, the ball that sticks out least gives weight to the one that does most.

    Each trade is the best one for these two and costs O(n); t is the lower bound.
    """
    n = len(gaps)
    slope, value, gap = np.empty(n), 0.0, 0.0
    for i in range(n):
        weights[i] = 1.0 / n
    value -= times(A, n, weights, slope)
    for i in range(n):
        value += weights[i] * protrusion[i]
        gap += weights[i] * gaps[i]
        slope[i] = protrusion[i] - 2.0 * slope[i]
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
        amount = 0.5 * (most - least) / between
        amount = weights[seller] if weights[seller] < amount else amount
        value += amount * (slope[buyer] - slope[seller] - amount * between)
        gap += amount * (gaps[buyer] - gaps[seller])
        weights[buyer] += amount
        weights[seller] -= amount
        for i in range(n):
            slope[i] -= 2.0 * amount * (A[buyer, i] - A[seller, i])


@compiled_sums
def climb(A, gaps, protrusion, weights, most_tight):
    """Raise the lower bound until it meets the upper one, starting from the given weights.

    Returns False if balls with weight are affinely dependent, or once more than `most_tight` of them are tight.
    """
    n = len(gaps)
    tight, U = np.empty(n, np.int64), np.empty((most_tight, most_tight))
    target, ones, products, excess = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    n_tight = settle(U, tight, A, gaps, protrusion, weights, target, ones)
    if n_tight == 0:
        return False
    is_tight, best, least = np.empty(n, np.int64), np.empty(n), np.inf  # upper bounds may rise and fall: keep the best
    for i in range(n):
        is_tight[i], best[i] = weights[i] > 0.0, weights[i]
    t, idle, blocked = 0.0, 0, False
    while idle < MOST_IDLE:
        bound = lower_bound(A, tight, n_tight, gaps, protrusion, weights, products)
        idle = 0 if bound > t else idle + 1
        t = bound if bound > t else t
        most = outermost(tight, n_tight, gaps, protrusion, weights, products, t, excess)
        met = excess[most] <= EXCESS
        if met or t + excess[most] < least:
            least = t + excess[most]
            for i in range(n):
                best[i] = weights[i]
        if met:
            break
        newcomer = -1 if blocked else outermost_other(is_tight, excess)
        if newcomer >= 0:
            if n_tight == most_tight:
                return False
            n_tight = join(U, tight, n_tight, A, newcomer)
            is_tight[newcomer] = 1
        best_on_hull(U, tight, n_tight, gaps, protrusion, t, target, ones)
        leaver = move(tight, n_tight, target, weights)
        blocked = leaver >= 0
        if blocked:
            is_tight[tight[leaver]] = 0
            delete_from_factor(U, n_tight, leaver, ones)
            n_tight -= 1
            for a in range(leaver, n_tight):
                tight[a] = tight[a + 1]
    total = 0.0
    for i in range(n):
        total += best[i]
    for i in range(n):
        weights[i] = best[i] / total
    return True


@compiled_sums
def settle(U, tight, A, gaps, protrusion, weights, target, ones):
    """Set the best weights on the hull of the balls with weight; drop those that get none, until all get some.

    Those that remain are tight. Returns their number, or 0 if the balls are affinely dependent.
    """
    n = len(weights)
    for i in range(n):
        tight[i] = i
    n_tight, n_weighty = 0, keep_weighty(tight, n, weights)
    t = lower_bound(A, tight, n_weighty, gaps, protrusion, weights, target)
    while n_tight != n_weighty:
        n_tight = n_weighty
        if not factor(U, tight, n_tight, A):
            return 0
        best_on_hull(U, tight, n_tight, gaps, protrusion, t, target, ones)
        for a in range(n_tight):
            weights[tight[a]] = 0.0 if target[a] < 0.0 else target[a]
        n_weighty = keep_weighty(tight, n_tight, weights)
    return n_tight


@compiled
def keep_weighty(tight, n_tight, weights):
    """Move the tight balls that have weight to the front; returns their number."""
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
        end = start + PANEL if start + PANEL < n_tight else n_tight
        if start > 0:
            subtract_product(U, start, end, n_tight)
        for a in range(start, end):
            for c in range(start, a):
                share = U[c, a]
                for b in range(a, n_tight):
                    U[a, b] -= share * U[c, b]
            if not U[a, a] > LEAST_PIVOT:
                return False
            scale = 1.0 / math.sqrt(U[a, a])
            for b in range(a, n_tight):
                U[a, b] *= scale
    return True


@compiled
def subtract_product(U, start, end, n_tight):
    """Subtract the product of the columns and the rows above from rows `start` to `end` of the factor."""
    left, above = np.empty((end - start, start)), np.empty((start, n_tight - start))
    for c in range(start):
        for b in range(start, end):
            left[b - start, c] = U[c, b]
        for b in range(start, n_tight):
            above[c, b - start] = U[c, b]
    product = np.dot(left, above)
    for a in range(start, end):
        for b in range(start, n_tight):
            U[a, b] -= product[a - start, b - start]


@compiled_sums
def join(U, tight, n_tight, A, newcomer):
    """Add a row to the factor, with a least pivot: the balls that the newcomer depends on are dropped one by one."""
    column = np.empty(n_tight)
    for a in range(n_tight):
        column[a] = A[tight[a], newcomer] + 1.0
    solve_forward(U, n_tight, column)
    pivot = A[newcomer, newcomer] + 1.0
    for a in range(n_tight):
        U[a, n_tight] = column[a]
        pivot -= column[a] * column[a]
    U[n_tight, n_tight] = math.sqrt(LEAST_PIVOT if pivot < LEAST_PIVOT else pivot)
    tight[n_tight] = newcomer
    return n_tight + 1


@compiled_sums
def lower_bound(A, tight, n_tight, gaps, protrusion, weights, products):
    """The t at which the value of the weights is zero; also writes products = A weights."""
    value, gap = 0.0, 0.0
    for j in range(len(products)):
        products[j] = 0.0
    for a in range(n_tight):
        i = tight[a]
        value += weights[i] * protrusion[i]
        gap += weights[i] * gaps[i]
        for j in range(len(products)):
            products[j] += weights[i] * A[i, j]
    for a in range(n_tight):
        value -= weights[tight[a]] * products[tight[a]]
    return zero_of(value, gap)


@inlined
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
        total = difference + allowed * allowed
        total = (0.0 if total < 0.0 else math.sqrt(total)) + allowed
        excess[i] = difference / total if total > 0.0 else 0.0
    return largest_of(excess)


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
    solve_two(U, n_tight, target, ones)
    missing, total = 1.0, 0.0
    for a in range(n_tight):
        missing -= 0.5 * target[a]
        total += ones[a]
    for a in range(n_tight):
        target[a] = 0.5 * target[a] + missing / total * ones[a]


@compiled_sums
def solve_two(U, n, x, y):
    """Solve U'U x = b, U'U y = c in place; x and y hold b and c at first."""
    for a in range(n):
        x[a] /= U[a, a]
        y[a] /= U[a, a]
        for b in range(a + 1, n):
            x[b] -= x[a] * U[a, b]
            y[b] -= y[a] * U[a, b]
    for a in range(n - 1, -1, -1):
        rest, other = x[a], y[a]
        for b in range(a + 1, n):
            rest -= U[a, b] * x[b]
            other -= U[a, b] * y[b]
        x[a], y[a] = rest / U[a, a], other / U[a, a]


@compiled
def move(tight, n_tight, target, weights):
    """Move the weights to the target, or until one becomes zero; returns which tight ball that is, or -1."""
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


@inlined
def radius_around(A, radii, reach, weights):
    """The radius of the ball with these weights that encloses all."""
    n = len(radii)
    products, square, radius = np.empty(n), 0.0, 0.0
    for i in range(n):
        products[i] = 0.0
    for i in range(n):
        if weights[i] != 0.0:
            for j in range(n):
                products[j] += weights[i] * A[i, j]
    for i in range(n):
        square += weights[i] * products[i]
    for i in range(n):
        distance = square - 2.0 * products[i] + A[i, i]
        needed = reach * (0.0 if distance < 0.0 else math.sqrt(distance)) + radii[i]
        radius = needed if needed > radius else radius
    return radius
