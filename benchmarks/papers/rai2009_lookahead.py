"""Figure 3 of rai2009: what lookahead gains on MNIST, 8 against 9.

    python benchmarks/papers/rai2009_lookahead.py [--quick]

Algorithm 2 with L = 1 (which is Algorithm 1) to 100, one pass over each of 100 random orderings, test accuracy; as
printed, but for its errata, and initialised with the exact ball of the first 512 rows, as StreamSVC does. C and the
preparation of rows are chosen once, for L = 10, on a fifth of the training rows, and are the same for all L. The paper
has a curve, and numbers for L = 1 and 10 in its Table 1: the mean rises and the deviation falls with L.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import ALGORITHM_2, EIGHT_NINE, INITIALISED_2, choose, run_job, summary
from common import GREY, OURS, PEER, Result, arguments, figures
from workers import Workers, grouped

COMMAND = "python benchmarks/papers/rai2009_lookahead.py"
LOOKAHEADS = (1, 2, 5, 10, 20, 50, 100)
PAPER = {1: 84.75, 10: 94.7}
COLUMNS = [
    ("lookahead", "L", "d"),
    ("mean", "accuracy, %", ".2f"),
    ("deviation", "±", ".2f"),
    ("lowest", "lowest", ".2f"),
    ("paper", "paper", ".2f"),
    ("seconds", "seconds", ".3f"),
]


def table(name, orderings, most, spread):
    """A row for each L, and what was chosen."""
    preparation, chosen = choose([name], EIGHT_NINE, most, spread)[name]
    cases = [(L, seed) for L in LOOKAHEADS for seed in range(orderings)]
    jobs = [(name, EIGHT_NINE, preparation, {**chosen, "lookahead": L}, seed, most) for L, seed in cases]
    runs = grouped((L for L, _ in cases), spread(run_job, jobs))
    return [{"lookahead": L, "paper": PAPER.get(L), **summary(found)} for L, found in runs.items()], chosen


def bars(result, rows, orderings):
    means, deviations = ([row[key] for row in rows] for key in ("mean", "deviation"))
    text = ", ".join(f"{row['mean']:.2f}" for row in rows)
    noise = 2 * max(deviations) / np.sqrt(orderings)  # twice the error of a mean
    result.bar("the mean rises with L", text, means[-1] > means[0] and min(np.diff(means)) > -noise)
    text = ", ".join(f"{row['deviation']:.2f}" for row in rows)
    noise = 2 * max(deviations) / np.sqrt(2 * orderings)
    result.bar("the deviation falls with L", text, deviations[-1] < deviations[0] and max(np.diff(deviations)) < noise)


def plot(result, printed, initialised):
    plt = figures()
    figure, axes = plt.subplots(figsize=(6.5, 4))
    for rows, color, label in (
        (printed, PEER, "as printed, errata mended"),
        (initialised, OURS, "initialised with the first 512 rows"),
    ):
        mean, deviation = ([row[key] for row in rows] for key in ("mean", "deviation"))
        axes.errorbar(LOOKAHEADS, mean, deviation, fmt="o-", ms=5, capsize=4, color=color, label=label)
    axes.plot(list(PAPER), list(PAPER.values()), "D", mfc="none", color=GREY, label="paper, Table 1")
    axes.set(xscale="log", xlabel="lookahead L", ylabel="test accuracy, %", title="MNIST, 8 against 9, after one pass")
    axes.set_xticks(LOOKAHEADS, [str(L) for L in LOOKAHEADS])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    orderings, most = (5, 2000) if args.quick else (100, None)
    result = Result("rai2009_lookahead", COMMAND, args, orderings=orderings, paper="rai2009, Figure 3")
    with Workers() as spread:
        printed, setting = table(ALGORITHM_2, orderings, most, spread)
        initialised, setting_initialised = table(INITIALISED_2, orderings, most, spread)
    result.content["settings"] = {ALGORITHM_2: setting, INITIALISED_2: setting_initialised}
    result.table("as_printed", COLUMNS, printed)
    result.table("initialised", COLUMNS, initialised)
    bars(result, printed, orderings)
    plot(result, printed, initialised)
    result.write()


if __name__ == "__main__":
    main()
