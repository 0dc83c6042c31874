"""Loops over items that belong to several groups: row i of a CSR matrix (indptr, indices, shares) has its shares."""

from modicum._jit import compiled, compiled_sums


@compiled_sums
def add_group_rows(indptr, indices, shares, table, first, out):
    """out[i] += sum over groups g of item first + i of its share of g times table[g]."""
    for i in range(out.shape[0]):
        for at in range(indptr[first + i], indptr[first + i + 1]):
            g, share = indices[at], shares[at]
            for k in range(out.shape[1]):
                out[i, k] += share * table[g, k]


@compiled_sums
def add_to_groups(indptr, indices, shares, values, out):
    """out[g] += the share of g of each item times its row of values."""
    for i in range(values.shape[0]):
        for at in range(indptr[i], indptr[i + 1]):
            g, share = indices[at], shares[at]
            for k in range(out.shape[1]):
                out[g, k] += share * values[i, k]


@compiled_sums
def add_halves_to_groups(indptr, indices, shares, first, second, column, out):
    """Add the first and the second part of each item to its groups, in columns `column` and n + `column` of 2 n."""
    n = out.shape[1] // 2
    for i in range(len(first)):
        for at in range(indptr[i], indptr[i + 1]):
            out[indices[at], column[i]] += shares[at] * first[i]
            out[indices[at], n + column[i]] += shares[at] * second[i]


@compiled_sums
def add_group_values(indptr, indices, shares, table, column, out):
    """out[i] += sum over groups g of item i of its share of g times table[g, column[i]]."""
    for i in range(len(out)):
        for at in range(indptr[i], indptr[i + 1]):
            out[i] += shares[at] * table[indices[at], column[i]]


@compiled
def count_groups(indptr, indices, which, seen, mark):
    """The number of groups of some items. `seen` has an int per group, none of which is `mark`."""
    count = 0
    for i in which:
        for at in range(indptr[i], indptr[i + 1]):
            if seen[indices[at]] != mark:
                seen[indices[at]] = mark
                count += 1
    return count
