"""The regularisation of RIM chosen without labels: number of clusters and adjusted Rand index on many data sets.

    python benchmarks/papers/gomes2010rim_choice.py [--quick]

RIM starts from 50 categories on features of total variance 1. The rule compares the stability of half samples with that
of a Gaussian null (`modicum.cluster.information.rule`). For each data set: the number of clusters chosen, the adjusted
Rand index of that model and the best one along the path (which takes the labels to find), and their ratio. The rule was
made on development sets, of which some are shown; the test sets were looked at once, after it was fixed. MNIST and
waveforms of other rows and seeds were among the development sets. The path and all scores are those of a sample of at
most 2,000 rows. With the number of clusters known, the regularisation comes from `choose_known`. Diffusion features are
learned from each half anew.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from modicum.cluster.information.diffusion import Diffusion
from modicum.cluster.information.features import ScaledRows
from modicum.cluster.information.priors import Prior
from modicum.cluster.information.rule import Source, choose, choose_known
from modicum.cluster.information.solve import Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Meter, Result, arguments, data_file, figures, warm_up

COMMAND = "python benchmarks/papers/gomes2010rim_choice.py"
MAX_CLUSTERS = 50
SHOWN = ("digits", "MNIST, diffusion", "waveforms", "20 clusters, 10 columns")  # in the figure
DEVELOPMENT, TEST = "development", "test"


# ---- data --------------------------------------------------------------------------------------------


def mixture(seed, n_clusters, n_columns, n, spread, *, stretch=0.0, noise=0, concentration=None):
    """Gaussian clusters around normal centers, stretched at random; `noise` columns say nothing."""
    rng = np.random.default_rng(seed)
    centers = spread * rng.normal(size=(n_clusters, n_columns))
    sizes = None if concentration is None else rng.dirichlet(np.full(n_clusters, concentration))
    truth = rng.choice(n_clusters, n, p=sizes)
    shapes = np.array(
        [
            np.diag(np.exp(stretch * rng.normal(size=n_columns))) @ np.linalg.qr(rng.normal(size=(n_columns,) * 2))[0]
            for _ in range(n_clusters)
        ]
    )
    rows = centers[truth] + np.einsum("ni,nij->nj", rng.normal(size=(n, n_columns)), shapes[truth])
    return np.hstack([rows, rng.normal(size=(n, noise))]), truth


def waveforms(seed, n, n_templates=33):
    """Spikes on four electrodes, 38 samples each: templates of different amplitudes, plus noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(38.0)
    templates = np.empty((n_templates, 4, len(time)))
    for template in templates:
        width, peak, amplitude = rng.uniform(1.5, 4), rng.uniform(10, 16), rng.lognormal(1.2, 0.4)
        rebound = rng.uniform(0.2, 0.7), peak + rng.uniform(5, 12), rng.uniform(3, 7)
        shape = rebound[0] * bump(time, *rebound[1:]) - bump(time, peak, width)
        template[:] = amplitude * rng.uniform(0.1, 1, size=(4, 1)) * shape
    truth = rng.choice(n_templates, n, p=rng.dirichlet(np.full(n_templates, 2.0)))
    rows = templates[truth] * rng.normal(1, 0.08, size=(n, 1, 1)) + rng.normal(size=(n, 4, len(time)))
    return rows.reshape(n, -1), truth


def bump(time, center, width):
    return np.exp(-((time - center) ** 2) / (2 * width**2))


def standardized(rows):
    """Columns of variance 1; constant ones are dropped."""
    deviations = rows.std(axis=0)
    return (rows[:, deviations > 0] - rows[:, deviations > 0].mean(axis=0)) / deviations[deviations > 0]


def principal(rows, n_components=50):
    rows = rows - rows.mean(axis=0)
    return rows @ np.linalg.eigh(rows.T @ rows)[1][:, : -n_components - 1 : -1]


def mnist(rows):
    raw = data_file("mnist.npz")
    return principal(raw["x_train"].reshape(-1, 784)[rows].astype(np.float32)), raw["y_train"][rows]


def cifar(n):
    raw = data_file("cifar10_test.npz")
    return principal(raw["x"].reshape(-1, 3072)[:n].astype(np.float32)), raw["y"][:n]


def kddcup(n):
    raw = data_file("kddcup99_10pct.npz")
    at = np.random.default_rng(0).choice(len(raw["x"]), n, replace=False)
    return standardized(np.log1p(np.abs(raw["x"][at].astype(np.float64)))), raw["y"][at]


def labelled(loader, prepare=np.asarray):
    found = loader()
    return prepare(found.data), found.target


def random_mixture(seed):
    """A mixture of random difficulty."""
    rng = np.random.default_rng(seed)
    n_clusters, n_columns = (int(np.exp(rng.uniform(np.log(2), np.log(most)))) for most in (40, 80))
    n = max(int(np.exp(rng.uniform(np.log(300), np.log(4000)))), 40 * n_clusters)
    spread = rng.uniform(2.2, 5) * n_clusters ** (1 / n_columns) / np.sqrt(2 * n_columns)
    shape = {"stretch": rng.choice([0, 0, 0.3, 0.5]), "noise": int(rng.choice([0, 0, 0, 5, 30]))}
    return mixture(seed, n_clusters, n_columns, n, spread, **shape, concentration=rng.choice([None, None, 1.0, 3.0]))


def sources(quick):
    """Name, part, whether features are those of a diffusion, and a function that gives rows and classes."""
    n = 1000 if quick else 10_000
    yield "iris", DEVELOPMENT, False, lambda: labelled(load_iris)
    yield "wine", DEVELOPMENT, False, lambda: labelled(load_wine, standardized)
    yield "breast cancer", DEVELOPMENT, False, lambda: labelled(load_breast_cancer, standardized)
    yield "digits", DEVELOPMENT, False, lambda: labelled(load_digits)
    yield "digits, diffusion", DEVELOPMENT, True, lambda: labelled(load_digits)
    yield "KDD Cup 99", DEVELOPMENT, False, lambda: kddcup(4000)
    yield "20 clusters, 10 columns", DEVELOPMENT, False, lambda: mixture(3, 20, 10, 4000, 1.6)
    yield "40 clusters, 20 columns", DEVELOPMENT, False, lambda: mixture(9, 40, 20, 4000, 1.5)
    yield "MNIST", TEST, False, lambda: mnist(slice(40_000, 40_000 + n))
    yield "MNIST, diffusion", TEST, True, lambda: mnist(slice(40_000, 40_000 + n))
    yield "waveforms", TEST, False, lambda: waveforms(31, 4000)
    yield "waveforms, diffusion", TEST, True, lambda: waveforms(32, 4000)
    for seed in range(5000, 5002 if quick else 5012):
        yield f"mixture {seed}", TEST, False, lambda seed=seed: random_mixture(seed)


# ---- measurement -------------------------------------------------------------------------------------


def measure(name, part, is_diffusion, rows, truth, seed):
    """A row of the table, and curves along the path."""
    rows, shares = np.asarray(rows, np.float32), np.full(len(rows), 1 / len(rows))
    features = (Diffusion if is_diffusion else ScaledRows).of(rows, shares)
    problem = Problem(features(rows), shares)
    source = Source(rows, Diffusion.of) if is_diffusion else None
    with Meter() as meter:
        choice = choose(problem, MAX_CLUSTERS, 1, Prior(), np.random.default_rng(seed), source=source)
    along = np.array([adjusted_rand_score(truth, labels) for labels in choice.path.labels(problem.rows)])
    n_classes = len(np.unique(truth))
    known = choose_known(problem, n_classes, 10, Prior(), np.random.default_rng(seed))
    row = {"data": name, "part": part, "rows": len(rows), "columns": rows.shape[1], "classes": n_classes}
    row |= {"clusters": choice.n_clusters, "regularization": choice.regularization, "score": choice.score[choice.at]}
    row |= {"ari": along[choice.at], "best_ari": along.max(), "ratio": along[choice.at] / along.max()}
    at_truth = np.abs(np.log(choice.path.n_clusters / n_classes)).argmin()
    row["true_number_ratio"] = along[at_truth] / along.max()
    row["has_signal"] = bool(along.max() >= 0.1)  # otherwise no regularisation finds the classes
    row |= {"best_clusters": int(choice.path.n_clusters[along.argmax()]), "known_clusters": known.n_clusters}
    row["known_ari"] = adjusted_rand_score(truth, known.model.labels(problem.rows))
    curve = {"regularizations": choice.path.regularizations, "n_clusters": choice.path.n_clusters, "ari": along}
    curve |= {"stability": choice.stability, "null": choice.null, "score": choice.score, "at": choice.at}
    return {**row, **meter.facts()}, curve


def plot(result, curves):
    plt = figures()
    names = [name for name in SHOWN if name in curves]
    figure, panels = plt.subplots(2, len(names), figsize=(11, 5), sharex=True, sharey="row", squeeze=False)
    for (above, below), name in zip(panels.T, names, strict=True):
        curve = curves[name]
        lambdas, at = curve["regularizations"], curve["at"]
        above.plot(lambdas, curve["n_clusters"], color=OURS, marker=".")
        above.set(title=name, xscale="log", yscale="log")
        below.plot(lambdas, curve["score"], color=OURS, label="score")
        below.plot(lambdas, curve["stability"], color=GREY, lw=1, label="stability")
        below.plot(lambdas, curve["null"], color=GREY, lw=1, ls=":", label="that of the null")
        below.plot(lambdas, curve["ari"], color=PEER, label="adjusted Rand index")
        below.set(xlabel="regularisation", ylim=(-0.3, 1.6))
        for panel in (above, below):
            panel.axvline(lambdas[at], color="black", ls="--", lw=0.8)
    panels[0, 0].set_ylabel("number of clusters")
    figure.legend(*panels[1, 0].get_legend_handles_labels(), ncols=4, loc="outside lower center", fontsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    result = Result("gomes2010rim_choice", COMMAND, args, paper="gomes2010rim, section 5.4")
    warm_up()
    table, curves = [], {}
    for name, part, is_diffusion, load in sources(args.quick):
        row, curves[name] = measure(name, part, is_diffusion, *load(), args.seed)
        table.append(row)
        print(
            *(f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items()),
            flush=True,
        )
    columns = [
        ("data", "data", ""),
        ("part", "part", ""),
        ("rows", "rows", "d"),
        ("columns", "columns", "d"),
        ("classes", "classes", "d"),
        ("clusters", "chosen number", "d"),
        ("score", "score", ".2f"),
        ("ari", "ARI", ".3f"),
        ("best_clusters", "best number", "d"),
        ("best_ari", "best ARI", ".3f"),
        ("ratio", "ratio", ".2f"),
        ("true_number_ratio", "ratio, nearest to the true number", ".2f"),
        ("known_ari", "ARI, number known", ".3f"),
        ("seconds", "seconds", ".1f"),
        ("cpu_seconds", "CPU seconds", ".1f"),
    ]
    result.table("choice", columns, table)
    for part in (DEVELOPMENT, TEST):
        rows = [row for row in table if row["part"] == part and row["has_signal"]]
        ratios, true_number = (np.array([row[key] for row in rows]) for key in ("ratio", "true_number_ratio"))
        result.bar(
            f"{part} sets: at least .75 of the best ARI on each", f"worst {ratios.min():.2f}", ratios.min() >= 0.75
        )
        result.bar(f"{part} sets: .90 of the best ARI on average", f"{ratios.mean():.2f}", ratios.mean() >= 0.90)
        result.note(
            f"Whoever knew the true number of clusters, and took the nearest one on the path, would have "
            f"{true_number.mean():.2f} of the best ARI on {part} sets, and {true_number.min():.2f} at worst."
        )
    result.note(
        "Constants of the rule were chosen among some 150 variants on 60 development sets: those shown, further "
        "mixtures, MNIST and waveforms. There the mean ratio was .93 and the worst .56; 4 sets were below .75. "
        "Ratios of the development sets shown are therefore optimistic."
    )
    result.note(
        "Four other kinds of rules were compared later on 99 sets with signal, 82 of them random mixtures: information "
        "on the other half beyond that of the null, nats on which halves agree, agreement of halves with the model of "
        "all rows (on 51 of the sets), the width of plateaus of the path, and products of these. With the best "
        "settings of each on these sets, means were .84 to .88, that of this rule .85, that of the true number .94. In "
        "cross-validation the best gained .01, so the rule was kept."
    )
    result.content["curves"] = curves
    plot(result, curves)
    result.write()


if __name__ == "__main__":
    main()
