"""Loops of several streaming balls (rai2009, section 4.3): a row outside all becomes a ball, and two are united.

Balls are rows of V (their centers w) and of `balls`; `squares` has the squared distances of their centers, slack
included. Of each array the first `n` rows are in use, and there is room for one more ball than are kept.
"""

import numpy as np

from modicum._jit import compiled, compiled_sums
from modicum._jit.enclosing import enclose, enclose_two

SQUARE, RADIUS, SLACK, SHARE = range(4)  # columns of `balls`: |w|^2, ..., weight in the center of the ball around all


@compiled_sums
def learn_dense(Z, sign, cost, V, balls, squares, n, decisions):
    """Learn rows in their order and write their decisions. Returns the numbers of balls, and of rows that joined."""
    products, joined = np.empty(len(V)), 0
    for i in range(Z.shape[0]):
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
            n = join(V, balls, squares, n, square, 0.0, 1.0 / cost[i])
            joined += 1
    return n, joined


@compiled_sums
def learn_sparse(data, indices, indptr, sign, cost, V, balls, squares, n, decisions):
    """The same for rows in CSR format: a row inside a ball takes time that depends on its entries alone."""
    products, joined = np.empty(len(V)), 0
    for i in range(len(sign)):
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
            V[n] = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                V[n, indices[at]] += sign[i] * data[at]
            n = join(V, balls, squares, n, square, 0.0, 1.0 / cost[i])
            joined += 1
    return n, joined


@compiled
def decide(products, balls, n):
    """The decision value of a row from its inner products with the centers."""
    decision = 0.0
    for j in range(n):
        decision += balls[j, SHARE] * products[j]
    return decision


@compiled
def is_outside(products, sign, square, balls, squares, n):
    """Whether a point is outside all balls; its squared distances from their centers become row n of `squares`."""
    outside = True
    for j in range(n):
        distance = max(balls[j, SQUARE] + balls[j, SLACK] - 2.0 * sign * products[j] + square, 0.0)
        squares[n, j] = squares[j, n] = distance
        outside = outside and distance > balls[j, RADIUS] * balls[j, RADIUS]
    return outside


@compiled
def join(V, balls, squares, n, square, radius, slack):
    """Add a ball that is already in V and `squares`; two are united if there are too many. Returns their number."""
    balls[n, SQUARE], balls[n, RADIUS], balls[n, SLACK] = square, radius, slack
    squares[n, n] = 0.0
    n += 1
    if n == len(V):
        a, b = closest(balls, squares, n)
        unite(V, balls, squares, n, a, b)
        n -= 1
    share(balls, squares, n)
    return n


@compiled
def closest(balls, squares, n):
    """The two balls whose union needs the smallest ball."""
    least, pair = np.inf, (0, 1)
    for a in range(1, n):
        for b in range(a):
            radius = enclose_two(squares[a, b], balls[a, RADIUS], balls[b, RADIUS])[1]
            if radius < least:
                least, pair = radius, (b, a)
    return pair


@compiled_sums
def unite(V, balls, squares, n, a, b):
    """The smallest ball around two replaces the first, the last ball replaces the second."""
    between = squares[a, b]
    step, radius = enclose_two(between, balls[a, RADIUS], balls[b, RADIUS])
    total = 0.0
    for k in range(V.shape[1]):
        V[a, k] = (1.0 - step) * V[a, k] + step * V[b, k]
        total += V[a, k] * V[a, k]
    balls[a, SQUARE], balls[a, RADIUS] = total, radius
    balls[a, SLACK] = (1.0 - step) ** 2 * balls[a, SLACK] + step**2 * balls[b, SLACK]
    for j in range(n):  # by the law of cosines, without reading V
        distance = (1.0 - step) * squares[a, j] + step * squares[b, j] - step * (1.0 - step) * between
        squares[a, j] = squares[j, a] = max(distance, 0.0)
    squares[a, a] = 0.0
    V[b], balls[b] = V[n - 1], balls[n - 1]
    squares[b, :n] = squares[n - 1, :n]
    squares[:n, b] = squares[:n, n - 1]
    squares[b, b] = 0.0


@compiled
def share(balls, squares, n):
    """Weights of the centers in that of the smallest ball around all balls."""
    weights = np.empty(n)
    enclose(-0.5 * squares[:n, :n], balls[:n, RADIUS].copy(), weights)
    balls[:n, SHARE] = weights
