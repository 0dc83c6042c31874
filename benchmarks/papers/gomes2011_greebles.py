"""Greebles, section 7.5.1 of gomes2011: height, body colour, and a dot colour that nobody was told to look at.

    python benchmarks/papers/gomes2011_greebles.py [--quick]

200 Greebles: height and body colour are drawn from four Gaussians around (+-1, +-1) with standard deviation 0.1, dots
are blue or red at random. The plan of section 7.4 with V = 6 and 20 items a task gives 60 tasks; each is answered by 10
of 60 workers. Half of the workers were told to sort by height, half by colour; a sixth sort by dots nevertheless. The
thesis used real workers. The simulated ones sort by the sign of their attribute, and slip with 5% of the items.

The thesis finds the four clusters in two dimensions, and eight in three, with no more beyond. As there, `n_dims` is
given here; the number of clusters is found.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modicum import CrowdClustering, CrowdFactorization
from modicum.crowd import Answers, assign, random_plan
from modicum.datasets import greeble_sorting, greebles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Meter, Result, arguments, figures

COMMAND = "python benchmarks/papers/gomes2011_greebles.py"
ITEMS, TASK, REDUNDANCY, PER_TASK, WORKERS, SLIPS = 200, 20, 6, 10, 60, 0.05
SCHOOLS = "height", "body", "dots"


def school_of(worker):
    return 2 if worker % 6 == 5 else worker % 2


def sorted_by_workers(attributes, seed):
    """All answers of the plan."""
    plan = assign(random_plan(ITEMS, TASK, REDUNDANCY, random_state=seed), range(WORKERS), PER_TASK, random_state=seed)
    table = {name: np.asarray(column) for name, column in plan.table().items()}
    seen = np.array([school_of(worker) for worker in table["worker"]])
    group = greeble_sorting(attributes[table["item"]], seen, slip_rate=SLIPS, random_state=seed)
    return Answers(table["worker"], table["task"], table["item"], group)


def run(seed, n_dims):
    attributes = greebles(ITEMS, seed)
    answers = sorted_by_workers(attributes, seed)
    with Meter() as meter:
        model = CrowdClustering(n_dims, workers="matrix", random_state=0).fit_groupings(answers)
        clusters = model.clusters_
    seen = (attributes[model.items_] > 0).astype(int)
    four, eight = seen[:, :2] @ [2, 1], seen @ [4, 2, 1]
    return {
        "n_dims": n_dims,
        "clusters": model.n_clusters_,
        "four": adjusted_rand_score(four, clusters),
        "eight": adjusted_rand_score(eight, clusters),
        "schools": schools_told(model, seen),
        "seconds": meter.seconds,
    }, (model, seen)


def schools_told(model, seen):
    """The share of workers whose confusion matrix agrees best with their own school.

    A school's matrix has 1 for clusters whose items mostly agree in its attribute.
    """
    shares = np.array([seen[model.clusters_ == k].mean(axis=0) for k in range(model.n_clusters_)])
    right = []
    for worker, confusion in model.confusion_.items():
        ideal = [np.outer(p, p) + np.outer(1 - p, 1 - p) for p in shares.T]
        error = [np.abs(confusion - matrix).mean() for matrix in ideal]
        right.append(int(np.argmin(error)) == school_of(worker))
    return float(np.mean(right))


def plot(result, fits):
    plt = figures()
    figure, panels = plt.subplots(2, 3, figsize=(11, 7))
    for axes, (model, seen), n_dims in zip(panels[0, :2], fits, (2, 3), strict=True):
        X = model.embedding_ - model.embedding_.mean(axis=0)
        X = X @ np.linalg.svd(X, full_matrices=False)[2].T
        colour = seen[:, :2] @ [2, 1]
        for k in range(4):
            for dot, marker in ((0, "o"), (1, "^")):
                rows = (colour == k) & (seen[:, 2] == dot)
                axes.scatter(*X[rows][:, :2].T, s=18, marker=marker, color=f"C{k}", alpha=0.7, lw=0)
        axes.set(title=f"D = {n_dims}: {model.n_clusters_} clusters", xticks=[], yticks=[])
    model, seen = fits[1]
    X = model.embedding_ - model.embedding_.mean(axis=0)
    X = X @ np.linalg.svd(X, full_matrices=False)[2].T
    axes = panels[0, 2]
    for dot, marker in ((0, "o"), (1, "^")):
        rows = seen[:, 2] == dot
        axes.scatter(X[rows, 0], X[rows, -1], s=18, marker=marker, color=["#c53030", "#2b6cb0"][dot], alpha=0.7, lw=0)
    axes.set(title="D = 3: the third axis; colour of dots", xticks=[], yticks=[])
    order = np.lexsort(np.array([seen[model.clusters_ == k].mean(axis=0) for k in range(model.n_clusters_)]).T.round())
    for axes, worker, school in zip(panels[1], (0, 1, 5), SCHOOLS, strict=True):
        confusion = model.confusion_[worker][np.ix_(order, order)]
        axes.imshow(confusion, vmin=0, vmax=1, cmap="Blues")
        axes.set(title=f"worker {worker}, sorts by {school}", xlabel="cluster", ylabel="cluster")
        axes.set(xticks=range(len(order)), yticks=range(len(order)))
        axes.set_xticklabels(order)
        axes.set_yticklabels(order)
        axes.grid(False)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    result = Result("gomes2011_greebles", COMMAND, args, items=ITEMS, workers=WORKERS, paper="gomes2011, 7.5.1")
    seeds = range(args.seed, args.seed + (2 if args.quick else 10))
    lines, fits = [], []
    for n_dims in (2, 3, 4):
        runs = [run(seed, n_dims) for seed in seeds]
        if n_dims < 4:
            fits.append(runs[0][1])
        line = {name: float(np.mean([facts[name] for facts, _ in runs])) for name in runs[0][0]}
        lines.append(line | {"n_dims": n_dims, "runs": len(runs)})
        print(lines[-1], flush=True)
    columns = [
        ("n_dims", "D", "d"),
        ("clusters", "clusters found", ".1f"),
        ("four", "ARI, height x body", ".3f"),
        ("eight", "ARI, with dots", ".3f"),
        ("schools", "workers told to their school", ".0%"),
        ("seconds", "seconds", ".2f"),
        ("runs", "runs", "d"),
    ]
    result.table("greebles", columns, lines)
    plot(result, fits)
    two, three, more = lines
    result.bar("D = 2: the four clusters", f"ARI {two['four']:.3f}", two["four"] > 0.95)
    result.bar("D = 3: the eight clusters", f"ARI {three['eight']:.3f}", three["eight"] > 0.95)
    result.bar("no more clusters with D = 4", f"{more['clusters']:.1f}", more["clusters"] < 9)
    result.bar("confusion matrices show the schools, D = 3", f"{three['schools']:.0%}", three["schools"] > 0.95)
    attributes = greebles(ITEMS, args.seed)
    answers = sorted_by_workers(attributes, args.seed)
    factors = CrowdFactorization(8, random_state=0).fit_groupings(answers)
    ari = adjusted_rand_score((attributes[factors.items_] > 0) @ [4, 2, 1], factors.clusters_)
    result.note(f"CrowdFactorization with K = 8, first seed: ARI {ari:.3f} with the eight clusters.")
    result.write()


if __name__ == "__main__":
    main()
