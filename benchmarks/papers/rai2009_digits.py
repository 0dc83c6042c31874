"""All ten digits of MNIST after a single pass, one class against the others; not in rai2009.

    python benchmarks/papers/rai2009_digits.py [--quick]

60,000 training rows of 784 pixels from 0 to 1, 10,000 test rows; means over random orderings, the batch machine has
one. Peers and the ball have one setting, chosen beforehand on held-out rows of 4,000; peers also have their rows
prepared as suits them best there. The second-order variants get unprepared rows, and choose inside the pass.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import AUTO, BATCH, CONTESTANTS, INITIALISED_2, TEN_DIGITS, measure
from common import GREY, OURS, PEER, Result, arguments, figures
from workers import Workers

COMMAND = "python benchmarks/papers/rai2009_digits.py"
LEARNERS = (BATCH, "Perceptron", "passive-aggressive", "SGD", "SGD, averaged", INITIALISED_2, "diagonal", "full", AUTO)
COLUMNS = [
    ("learner", "learner", ""),
    ("mean", "accuracy, %", ".2f"),
    ("deviation", "±", ".2f"),
    ("seconds", "seconds", ".2f"),
    ("held_kib", "holds, KiB", ".0f"),
    ("orderings", "orderings", "d"),
    ("preparation", "rows", ""),
    ("setting", "setting", ""),
]


def bars(result, rows):
    means = {row["learner"]: row["mean"] for row in rows}
    peers = {name: mean for name, mean in means.items() if not CONTESTANTS[name].is_ours and name != BATCH}
    best = max(peers, key=peers.get)
    wish = f"{AUTO}: at least the best one-pass peer's accuracy ({best}, {peers[best]:.2f})"
    result.bar(wish, f"{means[AUTO]:.2f}", means[AUTO] >= peers[best])
    wish = f"{AUTO}: within 1 point of the batch machine's {means[BATCH]:.2f}"
    result.bar(wish, f"{means[AUTO]:.2f}", means[AUTO] >= means[BATCH] - 1)


def plot(result, rows):
    plt = figures()
    figure, axes = plt.subplots(figsize=(7, 3.4))
    for y, row in enumerate(rows[::-1]):
        color = OURS if CONTESTANTS[row["learner"]].is_ours else GREY if row["learner"] == BATCH else PEER
        axes.plot(row["accuracies"], [y] * len(row["accuracies"]), "|", color=color, alpha=0.6)
        axes.plot(row["mean"], y, "o", color=color)
    axes.set_yticks(range(len(rows)), [row["learner"] for row in rows[::-1]])
    axes.set(title="Ten digits of MNIST after one pass", xlabel="test accuracy, %")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    orderings, choice_rows, most = (2, 500, 2000) if args.quick else (5, 4000, None)
    result = Result("rai2009_digits", COMMAND, args, orderings=orderings, paper="rai2009; ten classes are ours")
    with Workers() as spread:
        rows = measure(LEARNERS, TEN_DIGITS, orderings, most, spread, choice_rows=choice_rows)
    result.table("digits", COLUMNS, rows)
    bars(result, rows)
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    main()
