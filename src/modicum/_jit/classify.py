"""Loops over decision values: predicted classes, mistakes, and a record of both."""

from modicum._jit import compiled, inlined


@inlined
def chosen_class(decision):
    """The predicted class of a row: that of the largest value, or by the sign of a single one."""
    if decision.shape[0] == 1:
        return 1 if decision[0] > 0.0 else 0
    best = 0
    for k in range(1, decision.shape[0]):
        if decision[k] > decision[best]:
            best = k
    return best


@compiled
def count_mistakes(decisions, codes, weight, totals):
    """Add the weight of misclassified rows, and the weighted squares of margin violations, to `totals`."""
    for i in range(codes.shape[0]):
        if chosen_class(decisions[i]) != codes[i]:
            totals[0] += weight[i]
        for k in range(decisions.shape[1]):
            positive = codes[i] == (1 if decisions.shape[1] == 1 else k)
            violation = 1.0 - (decisions[i, k] if positive else -decisions[i, k])
            if violation > 0.0:
                totals[1] += weight[i] * violation * violation


@compiled
def note(decisions, codes, confusion, wrong, bin_width, seen, sampled, draws, sample, sample_codes):
    """Count rows by true and predicted class, mistakes by the bin of the row, and sample some decision values.

    Row n takes a random slot of the sample with probability 4 size / n: after n rows, 15 in 16 of the sample are from
    the newer half of the rows.
    """
    size = sample_codes.shape[0]
    for i in range(codes.shape[0]):
        chosen = chosen_class(decisions[i])
        confusion[codes[i], chosen] += 1
        wrong[(seen + i) // bin_width] += chosen != codes[i]
        n = sampled + i + 1
        slot = n - 1 if n <= size else size
        if slot == size and draws[i, 0] * n < 4.0 * size:
            slot = int(draws[i, 1] * size)
        if slot < size:
            for k in range(decisions.shape[1]):
                sample[slot, k] = decisions[i, k]
            sample_codes[slot] = codes[i]
