"""Loops of several streaming balls (rai2009, section 4.3): rows outside all of them become balls, and two balls unite.

Balls are rows of V (their centers w) and of `balls`; `squares` has the squared distances of their centers, slack
included. Of each array the first `n` rows are in use, and there is room for one more ball than is kept.
"""

import numpy as np

from modicum._jit import compiled, compiled_sums, inlined
from modicum._jit.enclosing import enclose, enclose_two

SQUARE, RADIUS, SLACK, SHARE = range(4)  # columns of `balls`: |w|^2, ..., weight in the center of the ball around all


def learn_dense(Z, sign, cost, V, balls, squares, n, decisions):
    """Learn rows in order and write their decisions. Returns the number of balls, and of rows that became balls."""
    ends = (V, balls, squares, decisions)
    return _learn(lambda start, n: scan_dense(Z, sign, cost, start, n, *ends), cost, V, balls, squares, n)


def learn_sparse(data, indices, indptr, sign, cost, V, balls, squares, n, decisions):
    """The same for rows in CSR format: a row inside a ball takes time that depends on its nonzero entries only."""
    rows, ends = (data, indices, indptr), (V, balls, squares, decisions)
    return _learn(lambda start, n: scan_sparse(*rows, sign, cost, start, n, *ends), cost, V, balls, squares, n)


def _learn(scan, cost, V, balls, squares, n):
    """Scan all rows and make balls of those outside: they are few, and one loop for all takes 5 s more to compile."""
    joined = 0
    i, square = scan(0, n)
    while i < len(cost):
        n = join(V, balls, squares, n, square, 0.0, 1.0 / cost[i])
        joined += 1
        i, square = scan(i + 1, n)
    return n, joined


def join(V, balls, squares, n, square, radius, slack):
    """Add a ball, already written to V and `squares`; if there are too many now, unite two. Returns their number."""
    n = add_ball(V, balls, squares, n, square, radius, slack)
    weights = np.empty(n)  # of the centers in the center of the smallest ball around all balls
    enclose(-0.5 * squares[:n, :n], balls[:n, RADIUS].copy(), weights)
    balls[:n, SHARE] = weights
    return n


@compiled_sums
def scan_dense(Z, sign, cost, start, n, V, balls, squares, decisions):
    """Write decisions of rows from `start` on. Returns the first row outside all balls, and its squared length.

    Its center and its distances are in row n of V and `squares` then. If there is none: the number of rows, and 0.
    """
    products = np.empty(len(V))
    for i in range(start, Z.shape[0]):
        z = Z[i]
        square = 0.0
        for k in range(z.shape[0]):
            square += z[k] * z[k]
        for j in range(n):
            product, w = 0.0, V[j]
            for k in range(z.shape[0]):
                product += w[k] * z[k]
            products[j] = product
        decisions[i] = decide(products, balls, n)
        if is_outside(products, sign[i], square + 1.0 / cost[i], balls, squares, n):
            for k in range(z.shape[0]):
                V[n, k] = sign[i] * z[k]
            return i, square
    return Z.shape[0], 0.0


@compiled_sums
def scan_sparse(data, indices, indptr, sign, cost, start, n, V, balls, squares, decisions):
    """The same for rows in CSR format."""
    products = np.empty(len(V))
    for i in range(start, len(sign)):
        square = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            square += data[at] * data[at]
        for j in range(n):
            product, w = 0.0, V[j]
            for at in range(indptr[i], indptr[i + 1]):
                product += w[indices[at]] * data[at]
            products[j] = product
        decisions[i] = decide(products, balls, n)
        if is_outside(products, sign[i], square + 1.0 / cost[i], balls, squares, n):
            for k in range(V.shape[1]):
                V[n, k] = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                V[n, indices[at]] += sign[i] * data[at]
            return i, square
    return len(sign), 0.0


@inlined
def decide(products, balls, n):
    decision = 0.0
    for j in range(n):
        decision += balls[j, SHARE] * products[j]
    return decision


@compiled
def is_outside(products, sign, square, balls, squares, n):
    """Whether a point is outside all balls; its squared distances from their centers become row n of `squares`."""
    outside = True
    for j in range(n):
        distance = balls[j, SQUARE] + balls[j, SLACK] - 2.0 * sign * products[j] + square
        distance = 0.0 if distance < 0.0 else distance
        squares[n, j] = squares[j, n] = distance
        outside = outside and distance > balls[j, RADIUS] * balls[j, RADIUS]
    return outside


@compiled
def add_ball(V, balls, squares, n, square, radius, slack):
    """Add a ball; if there are too many now, unite two. Returns their number."""
    balls[n, SQUARE], balls[n, RADIUS], balls[n, SLACK] = square, radius, slack
    squares[n, n] = 0.0
    n += 1
    if n == len(V):
        a, b = closest(balls, squares, n)
        unite(V, balls, squares, n, a, b)
        n -= 1
    return n


@compiled
def closest(balls, squares, n):
    """The two balls whose union needs the smallest ball."""
    least, first, second = np.inf, 0, 1
    for a in range(1, n):
        for b in range(a):
            _, radius = enclose_two(squares[a, b], balls[a, RADIUS], balls[b, RADIUS])
            if radius < least:
                least, first, second = radius, b, a
    return first, second


@compiled_sums
def unite(V, balls, squares, n, a, b):
    """Replace ball a by the smallest ball around a and b, and ball b by the last one."""
    between = squares[a, b]
    step, radius = enclose_two(between, balls[a, RADIUS], balls[b, RADIUS])
    total = 0.0
    for k in range(V.shape[1]):
        V[a, k] = (1.0 - step) * V[a, k] + step * V[b, k]
        total += V[a, k] * V[a, k]
    balls[a, SQUARE], balls[a, RADIUS] = total, radius
    balls[a, SLACK] = (1.0 - step) * (1.0 - step) * balls[a, SLACK] + step * step * balls[b, SLACK]
    for j in range(n):  # by the law of cosines, without using V
        distance = (1.0 - step) * squares[a, j] + step * squares[b, j] - step * (1.0 - step) * between
        squares[a, j] = squares[j, a] = 0.0 if distance < 0.0 else distance
    squares[a, a] = 0.0
    for k in range(V.shape[1]):
        V[b, k] = V[n - 1, k]
    for k in range(balls.shape[1]):
        balls[b, k] = balls[n - 1, k]
    for j in range(n):
        squares[b, j] = squares[j, b] = squares[n - 1, j]
    squares[b, b] = 0.0
