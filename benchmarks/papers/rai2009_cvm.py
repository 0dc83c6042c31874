"""Figure 2 of rai2009: passes that a core vector machine needs for the accuracy of our single one.

    python benchmarks/papers/rai2009_cvm.py [--quick]

MNIST, 8 against 9. The machine is that of tsang2005 in its plain form, with a linear kernel: it starts from two
points far apart, each pass over all training rows adds the augmented point that is farthest from the center, and the
smallest ball that encloses the core points is found again. Its rows are prepared as for our Algorithm 2, with the mean
of all of them known beforehand. It runs from several random rows and for several C; passes are means over the starts
that reach it. Ours are means over random orderings; the balls' setting is chosen on held-out training rows.
"""

import sys
import time
from pathlib import Path

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from classifiers import ALGORITHM_2, AUTO, EIGHT_NINE, INITIALISED_2, choose, prepared_task, run_job
from common import GREY, OURS, PALE, PEER, THIRD, Result, arguments, figures
from workers import Workers

COMMAND = "python benchmarks/papers/rai2009_cvm.py"
COSTS = {0.1: PALE, 1.0: PEER, 10.0: THIRD}
TARGETS = (ALGORITHM_2, INITIALISED_2, AUTO)
PREPARATIONS = {(False, False): "as given", (True, False): "centered", (True, True): "standardized"}
COLUMNS = [
    ("target", "one pass of", ""),
    ("accuracy", "accuracy, %", ".2f"),
    ("C", "C of the CVM", "g"),
    ("first", "passes until the CVM reaches it", ".0f"),
    ("settled", "until it stays above", ".0f"),
    ("arrived", "starts that stayed", ""),
]


@njit(cache=True)
def enclose(Q, share, m):
    """Shares of m points, with products Q, in the center of their smallest ball, from shares near them.

    All points have the same length, so the center is the shortest vector that they span convexly. Steps move shares
    from the point that is nearest to the center to the one that is farthest from it.
    """
    product = np.zeros(m)  # of the points with the center
    for i in range(m):
        product[i] = np.dot(Q[i, :m], share[:m])
    for _ in range(100 * m):
        far, near = 0, -1
        for i in range(m):
            if product[i] < product[far]:
                far = i
            if share[i] > 0 and (near < 0 or product[i] > product[near]):
                near = i
        gap = product[near] - product[far]
        if gap <= 1e-6 * product[near]:
            break
        moved = min(share[near], gap / (Q[far, far] + Q[near, near] - 2 * Q[far, near]))
        share[far] += moved
        share[near] -= moved
        for i in range(m):
            product[i] += moved * (Q[i, far] - Q[i, near])


def core_vector_machine(X, C, first, passes):
    """Weights after each pass over the rows X, which are multiplied by their signs."""
    core = [first]
    Q, share = np.zeros((passes + 1, passes + 1)), np.zeros(passes + 1)
    Q[0, 0], share[0] = X[first] @ X[first] + 1 / C, 1.0
    w = X[first]
    for m in range(1, passes + 1):
        product = X @ w.astype(X.dtype)  # the slack parts of points outside the core are orthogonal to the center
        product[core] = np.inf
        core.append(int(product.argmin()))
        points = X[core].astype(np.float64)
        Q[m, : m + 1] = Q[: m + 1, m] = points @ points[m]
        Q[m, m] += 1 / C
        if m == 1:
            share[:2] = 0.5
        enclose(Q, share, m + 1)
        w = share[: m + 1] @ points
        yield w


def curve(job):
    """Test accuracy in percent after each pass."""
    preparation, C, seed, passes, most = job
    X, X_test, y, y_test = prepared_task(EIGHT_NINE, preparation, most=most)
    rows = (y[:, None] * X).astype(np.float32)
    first = int(np.random.default_rng(seed).integers(len(rows)))
    start = time.perf_counter()
    accuracy = [
        100 * float(np.mean((X_test @ w > 0) == (y_test > 0))) for w in core_vector_machine(rows, C, first, passes)
    ]
    return {"C": C, "accuracy": accuracy, "seconds": time.perf_counter() - start}


def targets(chosen, orderings, most, spread):
    """Mean accuracy of a single pass of ours."""
    jobs = [(name, EIGHT_NINE, *chosen[name], seed, most) for name in TARGETS for seed in range(orderings)]
    found = [run["accuracy"] for run in spread(run_job, jobs)]
    return dict(zip(TARGETS, np.reshape(found, (len(TARGETS), orderings)).mean(axis=1).tolist(), strict=True))


def passes_to(accuracy, curve):
    """Passes until a curve first reaches an accuracy, and until it stays above; None if it doesn't."""
    below = np.flatnonzero(np.asarray(curve) < accuracy)
    settled = int(below[-1]) + 2 if len(below) else 1
    first = int(np.argmin(np.asarray(curve) < accuracy)) + 1
    return first if curve[first - 1] >= accuracy else None, settled if settled <= len(curve) else None


def table(ours, curves):
    rows = []
    for name, accuracy in ours.items():
        for C in COSTS:
            starts = [passes_to(accuracy, curve["accuracy"]) for curve in curves if curve["C"] == C]
            row = {"target": name, "accuracy": accuracy, "C": C}
            for key, found in zip(("first", "settled"), zip(*starts, strict=True), strict=True):
                there = [count for count in found if count is not None]
                row |= {key: float(np.mean(there)) if there else None, f"all_{key}": found}
            stayed = sum(count is not None for count in row["all_settled"])
            rows.append({**row, "arrived": f"{stayed} of {len(starts)}"})
    return rows


def bars(result, rows, passes):
    for name in (ALGORITHM_2, AUTO):
        measured = {row["C"]: row["settled"] for row in rows if row["target"] == name}
        quickest = min((count for count in measured.values() if count is not None), default=None)
        text = ", ".join(
            f"{f'over {passes:,}' if count is None else format(count, '.0f')} for C = {C:g}"
            for C, count in measured.items()
        )
        wish = f"{name}: a CVM needs over 100 passes to stay above its single one (paper: several hundred)"
        result.bar(wish, text, (passes > 100 or None) if quickest is None else quickest > 100)


def plot(result, ours, curves):
    plt = figures()
    figure, axes = plt.subplots(figsize=(7.5, 4.4))
    for C, color in COSTS.items():
        lines = np.array([curve["accuracy"] for curve in curves if curve["C"] == C])
        at = np.arange(1, lines.shape[1] + 1)
        axes.fill_between(at, lines.min(axis=0), lines.max(axis=0), color=color, alpha=0.25, lw=0)
        axes.plot(at, lines.mean(axis=0), color=color, label=f"CVM, C = {C:g}")
    for (name, accuracy), style in zip(ours.items(), (":", "--", "-"), strict=True):
        axes.axhline(accuracy, color=OURS, ls=style, lw=1.4, label=f"one pass of {name}")
    axes.set(xscale="log", xlabel="passes of the CVM", ylabel="test accuracy, %", title="MNIST, 8 against 9")
    axes.set_ylim(bottom=max(50, min(ours.values()) - 25))
    ticks = [count for count in (1, 10, 100, 1000) if count <= lines.shape[1]]
    axes.set_xticks(ticks, [f"{count:,}" for count in ticks])
    axes.legend(fontsize=8, loc="lower right")
    figure.supxlabel("shaded: from the worst to the best of the starts", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    passes, starts, orderings, most = (60, 2, 2, 2000) if args.quick else (1000, 4, 20, None)
    result = Result(
        "rai2009_cvm", COMMAND, args, passes=passes, starts=starts, orderings=orderings, paper="rai2009, Figure 2"
    )
    with Workers() as spread:
        chosen = choose(TARGETS, EIGHT_NINE, most, spread)
        ours = targets(chosen, orderings, most, spread)
        preparation = PREPARATIONS[chosen[ALGORITHM_2][1]["center_and_scale"]] + ", unit norm"
        jobs = [(preparation, C, seed, passes, most) for seed in range(starts) for C in COSTS]
        curves = list(spread(curve, jobs))
    result.content |= {"preparation": preparation, "settings": {name: chosen[name][1] for name in TARGETS}}
    result.content["curves"] = curves
    rows = table(ours, curves)
    result.table("passes", COLUMNS, rows)
    bars(result, rows, passes)
    plot(result, ours, curves)
    result.write()


if __name__ == "__main__":
    main()
