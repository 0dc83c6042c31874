"""The loop of ADWIN: an exponential histogram of the latest values, which is cut where its mean has changed.

`counts[level]` buckets are held of 2**level values each; `sums[level, i]` and `squares[level, i]` are theirs, the
oldest first. Older values are in higher levels.
"""

import math

import numpy as np

from modicum._jit import compiled, inlined


@inlined
def _drop_first(level, counts, sums, squares):
    """Forget the oldest bucket of a level."""
    for i in range(1, counts[level]):
        sums[level, i - 1] = sums[level, i]
        squares[level, i - 1] = squares[level, i]
    counts[level] -= 1


@inlined
def _insert(values, counts, sums, squares, row, new):
    """Add buckets of one value each; where a level overflows, its oldest pairs of buckets become ones of the next.

    `row` and `new` are scratch: the buckets of a level in their order, and those that are new to it. It is as if values
    were added one by one, but a level moves its buckets once.
    """
    n_new, most = len(values), sums.shape[1] - 1
    for i in range(n_new):
        new[i, 0], new[i, 1] = values[i], values[i] * values[i]
    for level in range(len(counts)):
        held = counts[level]
        for i in range(held):
            row[i, 0], row[i, 1] = sums[level, i], squares[level, i]
        for i in range(n_new):
            row[held + i, 0], row[held + i, 1] = new[i, 0], new[i, 1]
        total = held + n_new
        n_new = (total - most + 1) // 2 if total > most else 0  # pairs, so that `most` buckets are left or one less
        for i in range(n_new):
            new[i, 0] = row[2 * i, 0] + row[2 * i + 1, 0]
            new[i, 1] = row[2 * i, 1] + row[2 * i + 1, 1]
        counts[level] = total - 2 * n_new
        for i in range(counts[level]):
            sums[level, i], squares[level, i] = row[2 * n_new + i, 0], row[2 * n_new + i, 1]
        for i in range(counts[level], most + 1):  # so that the state is the same however values come
            sums[level, i] = squares[level, i] = 0.0
        if n_new == 0:
            break


@compiled
def change(counts, sums, squares, delta):
    """The most significant change of the mean: later minus earlier values, and how many are later; 0, 0 if none is.

    Theorem 3.2 of bifet2007 with the bound by the variance, eq. 3.1, and delta / ln n for the cuts.
    """
    n, total, square = 0.0, 0.0, 0.0
    for level in range(len(counts)):
        n += counts[level] * 2.0**level
        for i in range(counts[level]):
            total += sums[level, i]
            square += squares[level, i]
    variance = square / n - (total / n) * (total / n) if n > 0.0 else 0.0
    if variance < 0.0:
        variance = 0.0
    cuts = math.log(n) if n > 3.0 else 1.0
    log = math.log(2.0 * cuts / delta)
    before, of_before = 0.0, 0.0
    best, found, place = 1.0, 0.0, 0.0
    for level in range(len(counts) - 1, -1, -1):
        for i in range(counts[level]):
            before += 2.0**level
            of_before += sums[level, i]
            after = n - before
            if after < 1.0:
                break
            m = 1.0 / (1.0 / before + 1.0 / after)
            difference = (total - of_before) / after - of_before / before
            times = abs(difference) / (math.sqrt(2.0 / m * variance * log) + 2.0 / (3.0 * m) * log)
            if times > best:
                best, found, place = times, difference, after
    return found, place


@compiled
def watch(values, first, every, counts, sums, squares, delta, at, since, differences):
    """Add values, numbered from `first` on, and look for a change at every `every`-th one.

    Writes where each change was noticed, where it was, and the difference of the means; returns how many there were.
    """
    n_found, stop = 0, 0
    size = min(every, len(values))
    row, new = np.empty((sums.shape[1] + size, 2)), np.empty((size, 2))
    while stop < len(values):
        start, stop = stop, min(stop + every - (first + stop) % every, len(values))
        _insert(values[start:stop], counts, sums, squares, row, new)
        if (first + stop) % every:
            continue
        difference, after = change(counts, sums, squares, delta)
        if difference == 0.0:
            continue
        at[n_found], since[n_found], differences[n_found] = first + stop - 1, first + stop - int(after), difference
        n_found += 1
        while difference != 0.0:
            level = len(counts) - 1
            while counts[level] == 0:
                level -= 1
            _drop_first(level, counts, sums, squares)
            difference, after = change(counts, sums, squares, delta)
    return n_found
