"""Loops over decision values: predicted classes, mistakes, and a record of both."""

from modicum._jit import compiled, compiled_sums, inlined


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
def judge(decisions, codes, weight, fading, changing, leader, totals, answers):
    """Count the mistakes of candidates, and copy the decision values of the one that leads before each row.

    The weight of misclassified rows, and the weighted squares of margin violations, are added to `totals`, which are
    multiplied by `fading` before each row. If the leader is `changing`, it is whoever has fewer mistakes. Returns the
    last one.
    """
    for i in range(codes.shape[0]):
        for k in range(decisions.shape[2]):  # a slice of numbers would take much longer
            answers[i, k] = decisions[leader, i, k]
        for e in range(decisions.shape[0]):
            totals[e, 0] *= fading
            totals[e, 1] *= fading
            if chosen_class(decisions[e, i]) != codes[i]:
                totals[e, 0] += weight[i]
            for k in range(decisions.shape[2]):
                positive = codes[i] == (1 if decisions.shape[2] == 1 else k)
                violation = 1.0 - (decisions[e, i, k] if positive else -decisions[e, i, k])
                if violation > 0.0:
                    totals[e, 1] += weight[i] * violation * violation
        if changing:
            for e in range(decisions.shape[0]):
                if totals[e, 0] < totals[leader, 0]:
                    leader = e
    return leader


@compiled
def note(decisions, codes, confusion, wrong, bin_width, seen, sampled, most, draws, sample, sample_codes):
    """Count rows by true and predicted class, mistakes by the bin of the row, and sample some decision values.

    Row n takes a random slot of the sample with probability 4 size / n: after n rows, 15 in 16 of the sample are from
    the newer half of the rows. Beyond `most` rows the probability stays the same: old rows are replaced in time.
    """
    size = sample_codes.shape[0]
    for i in range(codes.shape[0]):
        chosen = chosen_class(decisions[i])
        confusion[codes[i], chosen] += 1
        wrong[(seen + i) // bin_width] += chosen != codes[i]
        n = sampled + i + 1
        slot = n - 1 if n <= size else size
        n = n if n < most else most
        if slot == size and draws[i, 0] * n < 4.0 * size:
            slot = int(draws[i, 1] * size)
        if slot < size:
            for k in range(decisions.shape[1]):
                sample[slot, k] = decisions[i, k]
            sample_codes[slot] = codes[i]


@compiled_sums
def decide_rows(Z, coefs, decisions):
    """Decision values of dense rows by a few weight vectors, the same however rows come in chunks."""
    for i in range(Z.shape[0]):
        for k in range(coefs.shape[0]):
            total = 0.0
            for j in range(Z.shape[1]):
                total += coefs[k, j] * Z[i, j]
            decisions[i, k] = total
