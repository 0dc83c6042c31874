"""MNIST of gomes2008 (section 2.6 and Figure 2.1): 60,000 digits through the memory of 6,000, against our batch fit.

    python benchmarks/papers/gomes2008_mnist.py [--quick]

Digits on their first 50 principal components; memory of 6,000 rows, half of it the epoch; the stream's length is given
(`horizon`), as in the paper. The same bytes as a size: 3 MiB, with rows of single precision and the same epochs, where
clumps take half the bytes. Two priors: one chosen by hand, as in the paper, by which a component is expected to have
a fifth of the variance of each column; and the default, which is fitted. Scored by the free energy, the number of
components, and the log-likelihood of 5,000 test digits, both by the predictive density and by the density at the mean
parameters (plug-in), which differ. Components get the label that most of the 10 training digits nearest to their mean
have, as if one had looked at the mean, and classify the 10,000 test digits; beside it, the label that most of their
training digits have.

The paper: 88 components for batch in 31.5 hours, 90 for its incremental algorithm in 20; ratio of free energies 0.9756;
91.2% and 88.5% of the test digits.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, figures, mosaic
from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.datasets import mnist, mnist_principal
from modicum.families import FullGaussian

COMMAND = "python benchmarks/papers/gomes2008_mnist.py"
N_HELD_OUT, N_NEAREST = 5000, 10
SHOWN = (6000, 12_000, 30_000, 60_000)  # rows, after which the means are shown
BATCH, OURS_NAME, SIZE_NAME = "{}: batch, all rows", "{}: memory of {:,} rows", "{}: memory of {}"
SHARE = 0.2  # of the variance of a column, by the prior chosen by hand
COLUMNS = [
    ("method", "method", ""),
    ("predictive", "log-likelihood, predictive", ".3f"),
    ("plug_in", "plug-in", ".3f"),
    ("free_energy", "free energy, nats per row", ".2f"),
    ("components", "components", "d"),
    ("by_mean", "test digits, by means", ".1%"),
    ("by_majority", "by majority", ".1%"),
    ("seconds", "seconds", ".1f"),
    ("held_mib", "held MiB", ".1f"),
    ("extra_mib", "extra MiB", ".0f"),
]


# ---- the stream --------------------------------------------------------------------------------------------


def stream(X, new, budget, epoch, family):
    """The model after one pass, its facts, and what it was like after each epoch."""
    model = MemoryBoundedMixture(family, budget=budget, epoch=epoch, horizon=len(X))
    moments, seconds, extra = [], 0.0, 0
    for chunk in np.split(X, len(X) // epoch):
        with Meter() as meter:
            model.partial_fit(chunk)
        seconds, extra = seconds + meter.seconds, max(extra, meter.facts()["extra_bytes"])
        scores = {"predictive": model.score(new), "components": model.n_components_}
        moments.append({"n_seen": model.n_seen_, "seconds": seconds, "held_bytes": model.nbytes_, **scores})
        if model.n_seen_ in SHOWN:
            moments[-1]["_means"] = by_size(model)
    return model, {"seconds": seconds, "extra_bytes": extra, "held_bytes": model.nbytes_}, moments


def by_size(model):
    return model.means_[np.argsort(-model.weights_, kind="stable")]


# ---- judges ------------------------------------------------------------------------------------------------


def labels_by_mean(model, X, y):
    """The digit that a component's mean looks like."""
    nearest = NearestNeighbors(n_neighbors=N_NEAREST).fit(X).kneighbors(model.means_, return_distance=False)
    return np.array([np.bincount(y[ids]).argmax() for ids in nearest])


def labels_by_majority(model, X, y):
    """The digit that most rows of a component are."""
    found = model.predict(X)
    return np.array([np.bincount(y[found == k], minlength=10).argmax() for k in range(model.n_components_)])


def judged(name, model, facts, digits):
    """A row of the table."""
    X, y, X_test, y_test = digits
    found, new = model.predict(X_test), X_test[:N_HELD_OUT]
    row = {"method": name, "predictive": model.score(new), "plug_in": model.plug_in_score_samples(new).mean()}
    row |= {"free_energy": model.free_energy_ / len(X), "components": model.n_components_}
    for key, labels in (("by_mean", labels_by_mean), ("by_majority", labels_by_majority)):
        row[key] = float((labels(model, X, y)[found] == y_test).mean())
    sizes = {name.replace("bytes", "mib"): facts[name] / MIB for name in ("held_bytes", "extra_bytes") if name in facts}
    return {**row, **facts, **sizes}


def bar_of(result, ours):
    return lambda wish, measured, met: result.bar(f"{ours['method']}: {wish}", measured, met)


def bars(result, ours, batch):
    """Bars for time and densities."""
    bar = bar_of(result, ours)
    seconds, likelihood = ours["seconds"], ours["predictive"]
    bar("a whole pass in 3 minutes", f"{seconds:.0f} s", seconds < 180)
    bar("a whole pass in 1 minute", f"{seconds:.0f} s", seconds < 60)
    bar("faster than batch", f"{seconds:.0f} and {batch['seconds']:.0f} s", seconds < batch["seconds"])
    measured = f"{likelihood:.2f}, plug-in {ours['plug_in']:.2f}"
    for wish, least in (("-26", -26.0), ("bnpy on all rows, -25.4", -25.4), ("the best batch peer, -23.0", -23.0)):
        bar(f"log-likelihood of new digits: at least {wish}", measured, likelihood >= least)


def bars_against_batch(result, ours, batch):
    bar = bar_of(result, ours)
    gap = batch["free_energy"] - ours["free_energy"]
    bar("free energy: at most 1 nat per row below batch", f"{gap:.2f}", gap <= 1)
    counts = [row["components"] for row in (ours, batch)]
    near = abs(counts[0] / counts[1] - 1)
    bar("components: within 15% of batch", f"{counts[0]} and {counts[1]}", near <= 0.15)
    measured = f"{ours['by_mean']:.1%}, batch {batch['by_mean']:.1%}"
    bar("test digits by the labels of means: at least 90%", measured, ours["by_mean"] >= 0.9)


# ---- figures -----------------------------------------------------------------------------------------------


def decoder():
    """A function from rows of principal components to pictures."""
    train, _, test, _ = mnist()
    center = train.mean(axis=0) / 255
    *_, X_test, _ = mnist_principal()
    axes = np.linalg.lstsq(test / 255 - center, X_test, rcond=0.01)[0]  # (784, 50); unused pixels are left out

    def pictures(rows):
        grey = (255 * np.clip(rows @ axes.T + center, 0, 1)).astype(np.uint8)
        return np.repeat(grey.reshape(-1, 28, 28, 1), 3, axis=3)

    return pictures


def plot_means(result, moments, batch):
    """Figure 2.1: means after parts of the stream, and those of batch; the largest components first."""
    plt = figures()
    pictures = decoder()
    shown = {f"{moment['n_seen']:,} digits": moment["_means"] for moment in moments if "_means" in moment}
    shown["batch"] = by_size(batch)
    columns = 10
    rows = [-(-len(means) // columns) for means in shown.values()]
    figure, panels = plt.subplots(1, len(shown), figsize=(2.55 * len(shown), 0.243 * max(rows) + 0.35))
    sheet = max(rows) * columns
    for axes, (title, means) in zip(panels, shown.items(), strict=True):
        blank = np.full((sheet - len(means), 28, 28, 3), 255, np.uint8)  # the same size of digits in all panels
        mosaic(axes, np.concatenate([pictures(means), blank]), columns)
        axes.set_title(f"{title}: {len(means)} components", fontsize=9)
    result.figure(figure, "gomes2008_mnist_means")
    plt.close(figure)


def plot_growth(result, moments, batch):
    plt = figures()
    figure, (left, center, right) = plt.subplots(1, 3, figsize=(11, 3.2), sharex=True)
    seen = [moment["n_seen"] for moment in moments]
    for axes, key in ((left, "components"), (center, "predictive")):
        axes.plot(seen, [moment[key] for moment in moments], "o-", ms=3.5, color=OURS)
        axes.axhline(batch[key], color=GREY, ls="--", lw=1.2)
        axes.annotate("batch", (seen[0], batch[key]), xytext=(0, 3), textcoords="offset points", color=GREY, fontsize=8)
    right.plot(seen, np.diff([moment["seconds"] for moment in moments], prepend=0), "o-", ms=3.5, color=PEER)
    left.set(title="Components", ylim=(0, None))
    center.set(title="Log-likelihood of new digits")
    right.set(title="Seconds per epoch", ylim=(0, None))
    for axes in (left, center, right):
        axes.margins(y=0.1)
        axes.set_xlabel("digits seen")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.tick_params(axis="x", labelsize=8)
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n, budget, size = (12_000, 2000, "1 MiB") if args.quick else (60_000, 6000, "3 MiB")
    result = Result(
        "gomes2008_mnist", COMMAND, args, n=n, d=50, budget=budget, size=size, paper="gomes2008, section 2.6"
    )
    X, y, X_test, y_test = mnist_principal()
    new, epoch = X_test[:N_HELD_OUT], budget // 2
    digits = X[:n], y[:n], X_test, y_test
    single = tuple(part.astype(np.float32) if part.ndim == 2 else part for part in digits)
    by_hand = FullGaussian(covariance=SHARE * X[:epoch].var(axis=0))
    rows = []
    for prior, family in (("prior fitted", FullGaussian()), ("prior by hand", by_hand)):
        model, facts, moments = stream(X[:n], new, budget, epoch, family)
        ours = judged(OURS_NAME.format(prior, budget), model, facts, digits)
        model, facts, _ = stream(single[0], single[2][:N_HELD_OUT], size, epoch, family)
        same_bytes = judged(SIZE_NAME.format(prior, size), model, facts, single)
        with Meter() as meter:
            batch = DirichletProcessMixture(family).fit(X[:n])
        whole = judged(BATCH.format(prior), batch, {**meter.facts(), "held_bytes": X[:n].nbytes}, digits)
        rows += [ours, same_bytes, whole]
        bars(result, ours, whole)
        for row in (ours, same_bytes):
            bars_against_batch(result, row, whole)
    result.table("mnist", COLUMNS, rows)
    plot_means(result, moments, batch)
    plot_growth(result, moments, rows[-1])
    result.content["moments"] = [{key: value for key, value in moment.items() if key[0] != "_"} for moment in moments]
    result.note("The ratio of free energies depends on the unit of the pixels, here from 0 to 1.")
    result.write()


if __name__ == "__main__":
    main()
