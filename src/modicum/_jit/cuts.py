"""Cutting groups of points into small ones, as a k-d tree does."""

import numpy as np

from modicum._jit import compiled


@compiled
def cut(points, starts, most, labels):
    """Cut each group at the mean of its widest column until none has more than most[g] points; write their labels.

    Group g has the points starts[g] .. starts[g + 1]. Returns the number of parts. Equal points stay together.
    """
    n, d = points.shape
    order = np.arange(n)
    firsts, lasts, limits = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    count = 0
    for g in range(len(starts) - 1):
        depth = 0
        firsts[0], lasts[0], limits[0] = starts[g], starts[g + 1], most[g]
        while depth >= 0:
            first, last, limit = firsts[depth], lasts[depth], limits[depth]
            depth -= 1
            if last == first:
                continue
            column, mean, widest = 0, 0.0, 0.0
            if last - first > limit:
                for j in range(d):
                    total, squares, base = 0.0, 0.0, points[order[first], j]
                    for i in range(first, last):
                        step = points[order[i], j] - base
                        total += step
                        squares += step * step
                    spread = squares - total * total / (last - first)
                    if spread > widest:
                        column, mean, widest = j, base + total / (last - first), spread
            low, high = first, last - 1
            if widest > 0.0:
                while low <= high:
                    if points[order[low], column] > mean:
                        order[low], order[high] = order[high], order[low]
                        high -= 1
                    else:
                        low += 1
            if first < low < last and widest > 0.0:
                firsts[depth + 1], lasts[depth + 1], limits[depth + 1] = low, last, limit
                firsts[depth + 2], lasts[depth + 2], limits[depth + 2] = first, low, limit
                depth += 2
            else:
                for i in range(first, last):
                    labels[order[i]] = count
                count += 1
    return count
