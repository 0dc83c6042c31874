"""The loop of ADWIN: an exponential histogram of the latest values, which is cut where its mean has changed.

`counts[level]` buckets are held of 2**level values each; `sums[level, i]` and `squares[level, i]` are theirs, the
oldest first. Older values are in higher levels.
"""

import math

from modicum._jit import compiled, inlined


@inlined
def _drop_first(level, counts, sums, squares):
    """Forget the oldest bucket of a level."""
    for i in range(1, counts[level]):
        sums[level, i - 1] = sums[level, i]
        squares[level, i - 1] = squares[level, i]
    counts[level] -= 1


@inlined
def _insert(value, counts, sums, squares):
    """Add a bucket of one value; where a level overflows, its two oldest buckets become one of the next level."""
    level, new, new_square = 0, value, value * value
    while True:
        sums[level, counts[level]] = new
        squares[level, counts[level]] = new_square
        counts[level] += 1
        if counts[level] < sums.shape[1] or level + 1 == len(counts):
            break
        new, new_square = sums[level, 0] + sums[level, 1], squares[level, 0] + squares[level, 1]
        _drop_first(level, counts, sums, squares)
        _drop_first(level, counts, sums, squares)
        level += 1


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
    n_found = 0
    for row in range(len(values)):
        _insert(values[row], counts, sums, squares)
        if (first + row + 1) % every:
            continue
        difference, after = change(counts, sums, squares, delta)
        if difference == 0.0:
            continue
        at[n_found], since[n_found], differences[n_found] = first + row, first + row + 1 - int(after), difference
        n_found += 1
        while difference != 0.0:
            level = len(counts) - 1
            while counts[level] == 0:
                level -= 1
            _drop_first(level, counts, sums, squares)
            difference, after = change(counts, sums, squares, delta)
    return n_found
