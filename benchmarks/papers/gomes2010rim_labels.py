"""Accuracy against the number of labels, as in Figure 5.7 of gomes2010rim, on MNIST instead of Caltech images.

    python benchmarks/papers/gomes2010rim_labels.py [--quick] [--draws 5]

10,000 rows of which few have labels: one row of each digit, the others drawn at random. The thesis judges on the
unlabelled rows; here 10,000 other rows are classified. Three classifiers, all multilogit models of 50 principal
components: labels alone (regularisation by cross-validation), entropy minimisation (no term for class sizes;
regularisation and tau fixed, chosen on other rows), and RIM (both chosen by the labels at hand). Defaults of all were
chosen on rows 40,000 to 60,000. A second table leaves three digits without any label.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Meter, Result, arguments, data_file, figures
from modicum.cluster.information.multilogit import Multilogit
from modicum.cluster.information.objective import Labelled, Objective
from modicum.cluster.information.semi_supervised import choose_settings, fit_labelled, labels_alone
from modicum.cluster.information.solve import Problem

COMMAND = "python benchmarks/papers/gomes2010rim_labels.py"
ALONE = (1e-4, 3e-5, 3e-4, 1e-3, 3e-3)  # regularisations of the labels alone
ENTROPY = 1e-4  # regularisation of entropy minimisation
TAUS = {10: 0.001, 20: 0.003, 50: 0.03, 100: 0.3, 500: 1.0}  # and its tau by the number of labels: larger ones collapse
NAMES = {"alone": "labels alone", "entropy": "entropy minimisation", "rim": "RIM"}


class EntropyMinimization(Objective):
    """Labelled and the conditional entropy, without the term for class sizes (Grandvalet and Bengio, 2004)."""

    def __call__(self, params):
        W, b = self.unpack(params)
        _, negative_entropy = self._forward(W, b)
        likelihood, residuals = self._label_terms()
        by_W, by_b = self._backward(np.zeros(len(b)), residuals)
        value = self.tau * negative_entropy - self.regularization * np.vdot(W, W) + likelihood
        return -value, -np.concatenate([(by_W - 2 * self.regularization * W).ravel(), by_b])


def minimize_entropy(problem, n_classes, regularization, tau):
    start = labels_alone(problem, n_classes, regularization).model
    rows, shares, labels = problem.rows, problem.shares, problem.labels
    objective = EntropyMinimization(rows, shares, n_classes, regularization, labels=labels, tau=tau)
    found = minimize(
        objective,
        objective.pack(start.weights, start.biases),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-5, "maxiter": 500},
    )
    return Multilogit(*objective.unpack(found.x))


def principal(rows, dims=50):
    """MNIST's first principal components, of total variance 1, and the digits."""
    raw = data_file("mnist.npz")
    X = raw["x_train"].reshape(-1, 784).astype(np.float32) / 255
    X -= X.mean(axis=0)
    X = X @ np.linalg.eigh(X.T @ X)[1][:, -dims:]
    return (X / np.sqrt(X.var(axis=0).sum()))[:rows], raw["y_train"][:rows].astype(np.int64)


def draw(y, n, classes, rng):
    """n rows of some classes: one of each class, the others at random."""
    order = rng.permutation(np.flatnonzero(y < classes))
    first = np.array([order[y[order] == k][0] for k in range(classes)])
    return np.concatenate([first, np.setdiff1d(order, first, assume_unique=True)])[:n]


def with_labels(X, y, rows):
    return Problem(X, np.full(len(X), 1 / len(X)), Labelled(rows, y[rows]))


def contest(problem, X_test, y_test, rng):
    """Accuracies of the three classifiers, and what RIM chose."""
    alone = choose_settings(problem, 10, rng, regularizations=ALONE, taus=(0.0,))
    with Meter() as meter:
        settings = choose_settings(problem, 10, rng)
        rim = fit_labelled(problem, 10, 10, settings, 1, rng).model
    models = {
        "alone": labels_alone(problem, 10, alone.regularization).model,
        "entropy": minimize_entropy(problem, 10, ENTROPY, TAUS[len(problem.labels.rows)]),
        "rim": rim,
    }
    accuracies = {name: np.mean(model.labels(X_test) == y_test) for name, model in models.items()}
    return {**accuracies, "tau": settings.tau, "log10": np.log10(settings.regularization), "cpu": meter.cpu_seconds}


def latent(problem, y, n_classes, rng):
    """How many latent categories there are, and the share of rows of digits without labels that they get."""
    settings = choose_settings(problem, n_classes, rng, taus=(1.0,))  # with less, no new classes
    fit = fit_labelled(problem, n_classes, 50, settings, 1, rng)
    found = fit.model.labels(problem.rows)
    new = found >= n_classes
    majority = sum(np.bincount(y[found == k]).max() for k in np.unique(found[new]))
    return {
        "categories": len(np.unique(found[new])),
        "recall": np.mean(new[y >= n_classes]) if (y >= n_classes).any() else None,
        "false": np.mean(new[y < n_classes]),
        "purity": majority / new.sum() if new.any() else None,
    }


def mean_of(draws):
    """The mean of each number over draws; of those draws that have it."""
    values = {key: [draw[key] for draw in draws if draw[key] is not None] for key in draws[0]}
    return {key: float(np.mean(of)) if of else None for key, of in values.items()}


def plot(result, table):
    plt = figures()
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    for (key, name), color in zip(NAMES.items(), (GREY, PEER, OURS), strict=True):
        means, errors = ([row[key + end] for row in table] for end in ("", "_error"))
        axes.errorbar([row["labels"] for row in table], means, errors, fmt="o-", ms=3.5, color=color, label=name)
    axes.set(xscale="log", xlabel="labels", title="MNIST: accuracy on other rows")
    axes.set_xticks([row["labels"] for row in table], [str(row["labels"]) for row in table])
    axes.minorticks_off()
    axes.legend(loc="lower right")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__, draws={"type": int, "default": 5})
    n, numbers, draws = (2000, (10, 50), 2) if args.quick else (10_000, (10, 20, 50, 100, 500), args.draws)
    result = Result("gomes2010rim_labels", COMMAND, args, n=n, draws=draws, paper="gomes2010rim, Figure 5.7")
    X, y = principal(30_000)
    X_test, y_test = X[20_000:], y[20_000:]
    X, y = X[:n], y[:n]
    table = []
    for number in numbers:
        rngs = np.random.default_rng(args.seed).spawn(draws)
        rows = [contest(with_labels(X, y, draw(y, number, 10, rng)), X_test, y_test, rng) for rng in rngs]
        errors = {key + "_error": np.std([row[key] for row in rows], ddof=1) / np.sqrt(draws) for key in NAMES}
        table.append({"labels": number, **mean_of(rows), **errors, "draws": rows})
        gain = table[-1]["rim"] - table[-1]["alone"]
        result.bar(f"{number} labels: not worse than the labels alone", f"{gain:+.3f}", gain >= 0)
        if number == 50:
            result.bar("50 labels: .05 above the labels alone", f"{gain:+.3f}", gain >= 0.05)
            result.bar("50 labels: .11 above the labels alone (aim)", f"{gain:+.3f}", gain >= 0.11)
    columns = [("labels", "labels", "d"), *((key, name, ".3f") for key, name in NAMES.items())]
    columns += [("tau", "mean tau", ".2f"), ("log10", "mean log10 lambda", ".1f"), ("cpu", "RIM CPU seconds", ".1f")]
    result.table("accuracy", columns, table)
    plot(result, table)
    hidden = []
    for n_classes in (7, 10):
        for number in (50, 200):
            rngs = np.random.default_rng(args.seed).spawn(2)
            rows = [latent(with_labels(X, y, draw(y, number, n_classes, rng)), y, n_classes, rng) for rng in rngs]
            hidden.append({"classes": n_classes, "labels": number, **mean_of(rows)})
    columns = [
        ("classes", "digits with labels", "d"),
        ("labels", "labels", "d"),
        ("categories", "latent categories", ".1f"),
        ("recall", "rows of digits without labels in them", ".2f"),
        ("purity", "their purity", ".2f"),
        ("false", "rows of other digits in them", ".3f"),
    ]
    result.table("latent", columns, hidden)
    result.write()


if __name__ == "__main__":
    main()
