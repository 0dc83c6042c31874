"""Loops over consecutive groups of items; `starts` are the first items of groups, and the end of the last group."""

from modicum._jit import compiled_sums


@compiled_sums
def add_halves(counts, averages, shares, starts, first, second):
    """Add the items of each group to its row of `first`, weighted by `shares`, and the rest to its row of `second`."""
    for g in range(len(first)):
        for i in range(starts[g], starts[g + 1]):
            here, there = counts[i] * shares[i], counts[i] * (1.0 - shares[i])
            for p in range(averages.shape[1]):
                first[g, p] += here * averages[i, p]
                second[g, p] += there * averages[i, p]


@compiled_sums
def dot_with_groups(averages, pulls, starts, out):
    """out[i] = averages[i] . pulls[g] for each item of a group g."""
    for g in range(len(pulls)):
        for i in range(starts[g], starts[g + 1]):
            total = 0.0
            for p in range(averages.shape[1]):
                total += averages[i, p] * pulls[g, p]
            out[i] = total
