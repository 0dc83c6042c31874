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
