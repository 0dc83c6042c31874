"""Table 1 of rai2009: accuracy of linear classifiers after a single pass.

    python benchmarks/papers/rai2009_table1.py [--quick]

MNIST 0 against 1 and 8 against 9, IJCNN1 (35,000 / 91,701 rows), Waveform (4,000 / 1,000), and the synthetic A, B, C
(2, 3, 5 columns, 20,000 rows). Means over 20 random orderings of the training rows; the batch machine has one.

Nothing is chosen on test rows. Peers and balls have one setting for all orderings, chosen beforehand on a fifth of the
training rows; peers also have their rows prepared as is best for them there. Algorithms 1 and 2 and multiple balls are
the paper's, without intercept, and with its errata mended: the slack of a row is 1 / C, and an update uses the old
radius. "Initialised with the first 512 rows" is StreamSVC with `ellipsoid=None`: it starts from the exact ball of the
first rows, and finds an intercept if that was better on held-out rows. The second-order variants choose everything
inside the pass; "auto" is StreamSVC with default settings.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import (
    ALGORITHM_1,
    ALGORITHM_2,
    AUTO,
    BATCH,
    CONTESTANTS,
    EIGHT_NINE,
    INITIALISED_1,
    INITIALISED_2,
    LA_SVM,
    MAJORITY,
    TASKS,
    measure,
)
from common import GREY, OURS, PALE, PEER, Result, arguments, figures
from workers import Workers

COMMAND = "python benchmarks/papers/rai2009_table1.py"
PAPER = {  # in percent
    BATCH: (99.52, 96.57, 91.64, 89.4, 96.5, 66.0, 93.2),
    "Perceptron": (99.47, 95.9, 64.82, 72.5, 95.5, 68.0, 77.0),
    "Pegasos, k = 1": (95.06, 69.41, 67.35, 77.34, 83.8, 57.05, 55.0),
    "Pegasos, k = 20": (99.48, 90.62, 88.9, 78.12, 89.9, 65.85, 73.2),
    LA_SVM: (98.82, 90.32, 74.27, 77.6, 96.5, 64.5, 68.0),
    ALGORITHM_1: (99.34, 84.75, 85.32, 74.3, 95.5, 64.4, 73.1),
    ALGORITHM_2: (99.71, 94.7, 87.81, 78.4, 97.0, 68.5, 87.5),
}
SAME_ROWS = ("MNIST 0v1", EIGHT_NINE, "IJCNN1")  # those of which the paper used the same rows as we do
SHORT = (BATCH, "passive-aggressive", "SGD, averaged", ALGORITHM_2, INITIALISED_2, AUTO)
NEAR = 0.3  # percentage points
COLUMNS = [
    ("task", "data", ""),
    ("learner", "learner", ""),
    ("mean", "accuracy, %", ".2f"),
    ("deviation", "±", ".2f"),
    ("lowest", "lowest", ".2f"),
    ("paper", "paper", ".2f"),
    ("seconds", "seconds", ".3f"),
    ("held_kib", "holds, KiB", ".1f"),
    ("preparation", "rows", ""),
    ("setting", "setting", ""),
]


def table(task, orderings, most, spread):
    """One row for each contestant, with the paper's number."""
    number = list(TASKS).index(task)
    rows = measure(CONTESTANTS, task, orderings, most, spread)
    return [
        {"task": task, "paper": PAPER[name][number] if (name := row["learner"]) in PAPER else None, **row}
        for row in rows
    ]


def overview(rows, tasks):
    """A row for each learner, a column for each task; the paper's numbers below those of the same learner."""
    found = {(row["learner"], row["task"]): row for row in rows}
    lines = []
    for name in CONTESTANTS:
        line = {task: found[name, task] for task in tasks}
        lines.append({"learner": name, **{task: row["mean"] for task, row in line.items()}})
        if name in PAPER:
            lines.append({"learner": f"… in the paper: {name}", **{task: row["paper"] for task, row in line.items()}})
    return lines


def bars(result, rows, tasks):
    found = {(row["learner"], row["task"]): row for row in rows}
    for task in SAME_ROWS:
        for name, printed in ((INITIALISED_1, ALGORITHM_1), (INITIALISED_2, ALGORITHM_2)):
            row, paper = found[name, task], found[printed, task]["paper"]
            result.bar(f"{name}, {task}: at least the paper's {paper}", measured(row), row["mean"] >= paper)
    for task in tasks:
        ours, batch = found[AUTO, task], found[BATCH, task]["mean"]
        wish = f"{AUTO}, {task}: within {NEAR} of the batch machine's {batch:.2f}"
        result.bar(wish, measured(ours), ours["mean"] >= batch - NEAR)
    peers = [name for name, one in CONTESTANTS.items() if not (one.is_ours or one.is_batch)]
    for wish, names in (
        (f"{AUTO} ahead of the best one-pass peer of bounded memory on most data", [n for n in peers if n != LA_SVM]),
        (f"{AUTO} ahead of {LA_SVM}, which keeps as many rows as it needs, on most data", [LA_SVM]),
    ):
        best = {task: max((found[name, task] for name in names), key=lambda row: row["mean"]) for task in tasks}
        gaps = {task: found[AUTO, task]["mean"] - row["mean"] for task, row in best.items()}
        text = ", ".join(f"{task} {gap:+.2f} ({best[task]['learner']})" for task, gap in gaps.items())
        result.bar(wish, text, 2 * sum(gap > 0 for gap in gaps.values()) > len(tasks))


def measured(row):
    return f"{row['mean']:.2f}" + ("" if row["deviation"] is None else f" ± {row['deviation']:.2f}")


def color_of(name):
    return OURS if CONTESTANTS[name].is_ours else GREY if name == BATCH else PEER


def plot(result, rows, tasks):
    plt = figures()
    figure, panels = plt.subplots(1, len(tasks), figsize=(2.1 * len(tasks), 4.6), sharey=True)
    names = [name for name in CONTESTANTS if name != MAJORITY][::-1]
    rows = [row for row in rows if row["learner"] in names]
    for axes, task in zip(panels, tasks, strict=True):
        batch = next(row["mean"] for row in rows if (row["task"], row["learner"]) == (task, BATCH))
        axes.axvline(batch, color=GREY, lw=1, ls="--")
        for row in (row for row in rows if row["task"] == task):
            y, color = names.index(row["learner"]), color_of(row["learner"])
            axes.plot(row["accuracies"], [y] * len(row["accuracies"]), "|", ms=5, mew=0.8, color=color, alpha=0.5)
            axes.plot(row["mean"], y, "o", ms=5, color=color)
            if row["paper"] is not None and task in SAME_ROWS:
                axes.plot(row["paper"], y, "D", ms=4, mfc="none", color=PALE)
        shown = [row["mean"] for row in rows if row["task"] == task]
        axes.set(title=task, xlim=(max(50, min(shown) - 2), min(100.2, max(shown) + 2)))
    panels[0].set_yticks(range(len(names)), names)
    figure.supxlabel(
        "accuracy after one pass, %; blue: modicum, red: peers, grey: batch; diamonds: the paper's numbers",
        fontsize=8,
        color=GREY,
    )
    result.figure(figure)
    plt.close(figure)


def notes(result, rows):
    found = {(row["learner"], row["task"]): row for row in rows}
    as_printed = [found[name, task] for task in SAME_ROWS for name in (ALGORITHM_1, ALGORITHM_2)]
    text = ", ".join(f"{row['task']} {measured(row)} ({row['paper']})" for row in as_printed)
    result.note(f"Algorithms 1 and 2 as printed, errata mended, the paper's numbers in brackets: {text}.")
    result.note(
        "The paper's Waveform and synthetic rows are not available, so its numbers for them are not comparable. Ours: "
        "Breiman's second class against the others; two Gaussians of which the best rule classifies 85% correctly, "
        "with 20,000 test rows in place of 200, which would give an accuracy to 2.5 points only."
    )
    result.note(
        "The batch machine, Perceptron, passive-aggressive, SGD and LASVM have an intercept; Pegasos where that was "
        "better on held-out rows. LASVM keeps its support vectors, and takes finishing steps on them afterwards."
    )
    result.note("Pegasos and LASVM are written from their papers; the paper's w3a is not among our data.")


def main():
    args = arguments(__doc__)
    orderings, most = (2, 300) if args.quick else (20, None)
    result = Result("rai2009_table1", COMMAND, args, orderings=orderings, paper="rai2009, Table 1")
    rows = []
    with Workers() as spread:
        for task in TASKS:
            rows += table(task, orderings, most, spread)
            print(f"{task} done", file=sys.stderr, flush=True)
    columns = [("learner", "learner", ""), *((task, task, ".2f") for task in TASKS)]
    lines = overview(rows, TASKS)
    result.table("short", columns, [line for line in lines if line["learner"] in SHORT])
    result.table("accuracy", columns, lines)
    result.table("details", COLUMNS, rows)
    bars(result, rows, TASKS)
    notes(result, rows)
    plot(result, rows, list(TASKS))
    result.write()


if __name__ == "__main__":
    main()
