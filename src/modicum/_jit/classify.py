"""Classes chosen by decision values, mistakes, and a record of both."""

from modicum._jit import compiled


@compiled
def chosen_class(decision):
    """The class of a row: of the largest value, or by the sign of a single one."""
    if decision.shape[0] == 1:
        return 1 if decision[0] > 0.0 else 0
    best = 0
    for k in range(1, decision.shape[0]):
        if decision[k] > decision[best]:
            best = k
    return best


@compiled
def count_mistakes(decisions, codes, weight, totals):
    """Add to `totals` the weight of rows put in a wrong class, and the squared margin violations."""
    for i in range(codes.shape[0]):
        if chosen_class(decisions[i]) != codes[i]:
            totals[0] += weight[i]
        for k in range(decisions.shape[1]):
            positive = codes[i] == (1 if decisions.shape[1] == 1 else k)
            missing = 1.0 - (decisions[i, k] if positive else -decisions[i, k])
            if missing > 0.0:
                totals[1] += weight[i] * missing * missing


@compiled
def note(decisions, codes, confusion, wrong, bin_width, seen, sampled, draws, sample, sample_codes):
    """Count rows by true and chosen class, mistakes by the bin of the row, and put some decision values in a sample.

    A row is put into a random slot with probability 4 size / n: then 15 in 16 of the sampled rows are from the newer
    half of n rows.
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
            sample[slot] = decisions[i]
            sample_codes[slot] = codes[i]
