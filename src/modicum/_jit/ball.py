"""Loops of the streaming ball (rai2009, Algorithm 1): scan rows up to the first one outside, or learn all of them.

A ball is the vector v, with w = scale v, and four numbers: the scale, |w|^2, the radius (-1 before the first row) and
the slack: the squared length of the center in the coordinates that belong to one row each.
"""

import math

import numpy as np

from modicum._jit import compiled_sums, inlined

SCALE, SQUARE, RADIUS, SLACK = range(4)  # entries of `ball`
LEAST_SCALE = 0.5  # below, v is rescaled in O(d): as often as the radius doubles, a few dozen times at most


@compiled_sums
def scan_dense(Z, sign, cost, start, learn, v, ball, decisions):
    """Write decisions of rows from `start` on. Returns the first row outside the ball, or the number of rows.

    With `learn`, the ball grows to enclose each row outside, and only stops at the end. The very first row is a ball.
    Also returned: the number of rows enclosed.
    """
    joined = 0
    for i in range(start, Z.shape[0]):
        z = Z[i]
        product, square = 0.0, 0.0
        for k in range(z.shape[0]):
            product += v[k] * z[k]
            square += z[k] * z[k]
        product *= ball[SCALE]
        decisions[i] = product
        beyond = excess(ball, sign[i] * product, square, 1.0 / cost[i])
        if beyond > 0.0:
            if not learn and ball[RADIUS] >= 0.0:
                return i, joined
            step = enclose_row(ball, beyond, 1.0 / cost[i])
            keep, share = (1.0 - step) * ball[SCALE], step * sign[i]
            total = 0.0
            for k in range(z.shape[0]):
                v[k] = keep * v[k] + share * z[k]
                total += v[k] * v[k]
            ball[SCALE] = 1.0
            ball[SQUARE] = total
            joined += 1
    return Z.shape[0], joined


@compiled_sums
def scan_sparse(data, indices, indptr, sign, cost, start, learn, v, ball, decisions):
    """The same for rows in CSR format, in time that depends on their nonzero entries only."""
    n, joined = indptr.shape[0] - 1, 0
    for i in range(start, n):
        product, square = 0.0, 0.0
        for at in range(indptr[i], indptr[i + 1]):
            product += v[indices[at]] * data[at]
            square += data[at] * data[at]
        product *= ball[SCALE]
        decisions[i] = product
        beyond = excess(ball, sign[i] * product, square, 1.0 / cost[i])
        if beyond > 0.0:
            if not learn and ball[RADIUS] >= 0.0:
                return i, joined
            step = enclose_row(ball, beyond, 1.0 / cost[i])
            keep = 1.0 - step
            ball[SQUARE] = keep * keep * ball[SQUARE] + step * (2.0 * keep * sign[i] * product + step * square)
            if keep > 0.0:
                ball[SCALE] *= keep
            share = step * sign[i] / ball[SCALE]
            for at in range(indptr[i], indptr[i + 1]):
                v[indices[at]] += share * data[at]
            if ball[SCALE] < LEAST_SCALE:
                rescale(v, ball)
            joined += 1
    return n, joined


@inlined
def excess(ball, product, square, slack):
    """Distance of a row from the ball, infinite if there is no ball yet. `slack` is one over its cost."""
    if ball[RADIUS] < 0.0:
        return np.inf
    distance = ball[SQUARE] - 2.0 * product + square + ball[SLACK] + slack
    return math.sqrt(distance) - ball[RADIUS] if distance > ball[RADIUS] * ball[RADIUS] else 0.0


@inlined
def enclose_row(ball, beyond, slack):
    """Grow the ball to touch a row at distance `beyond`; returns the step of the center as a share of the way."""
    if ball[RADIUS] < 0.0:
        ball[RADIUS] = 0.0
        ball[SLACK] = slack
        return 1.0
    step = 0.5 * beyond / (ball[RADIUS] + beyond)
    ball[RADIUS] += 0.5 * beyond
    ball[SLACK] = (1.0 - step) * (1.0 - step) * ball[SLACK] + step * step * slack
    return step


@inlined
def rescale(v, ball):
    """Make the scale 1 with the same w; |w|^2 is recomputed, without accumulated rounding errors."""
    total = 0.0
    for k in range(v.shape[0]):
        v[k] *= ball[SCALE]
        total += v[k] * v[k]
    ball[SCALE] = 1.0
    ball[SQUARE] = total
