"""Tables 2.1 and 2.2 of gomes2008: held-out likelihood against memory, against particle filters; digits for Caltech 4.

    python benchmarks/papers/gomes2008_particles.py [--quick]

scikit-learn's 1,797 digits (pixels from 0 to 16) on 20 principal components, 1,500 at random to learn from in one pass
and 297 held out; means over five splits. Memory of 200, 400 and 600 rows, half of it the epoch; particle filters
(fearnhead2004, in `particle_filter.py`) with 100, 1,000 and 10,000 particles; and batch. All have the concentration 1,
the same Normal-Wishart prior, and are scored by the predictive density. Filters, which can't revise decisions, need
another prior: so all are also run with eight others, and the one is taken that has the largest evidence of the training
rows by its own estimate (ours: the free energy); 10,000 particles have the prior that 1,000 take. Seconds are those of
the processor, of one thread, with as many parallel runs as there are cores.

The paper has 1,300 images of four categories in 20 columns: 4.99, 5.43 and 5.80 with 100 to 10,000 particles in 594 to
24,840 s, and 6.37, 6.93 and 6.99 with memory of 200 to 600 in 57 to 73 s; batch 7.04.
"""

import sys
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, OURS, PEER, Result, arguments, figures
from modicum import DirichletProcessMixture, MemoryBoundedMixture
from modicum.families import FullGaussian
from particle_filter import ParticleFilter
from workers import Workers, grouped

COMMAND = "python benchmarks/papers/gomes2008_particles.py"
N_COLUMNS, N_TRAIN = 20, 1500
MEMORIES, PARTICLES, LARGEST = (200, 400, 600), (100, 1000), 10_000
SHARES, MEAN_WEIGHTS = (0.03, 0.06, 0.1, 0.2), (0.1, 0.5)  # priors to choose from: see `round_prior`
PAPER = {
    "particles 100": 4.99,
    "particles 1000": 5.43,
    "particles 10000": 5.80,
    "memory 200": 6.37,
    "memory 400": 6.93,
    "memory 600": 6.99,
}
COLUMNS = [
    ("method", "method", ""),
    ("score", "log-likelihood, new rows", ".3f"),
    ("deviation", "±", ".3f"),
    ("gap", "below batch", ".3f"),
    ("components", "components", ".1f"),
    ("seconds", "processor s", ".2f"),
    ("speed_ratio", "times batch's", ".1f"),
    ("paper_gap", "below batch, paper", ".2f"),
]


def split(seed, n_train):
    """Rows to learn from in random order, and rows held out, on the principal components of the former."""
    X = load_digits().data
    X = X[np.random.default_rng(seed).permutation(len(X))]
    pca = PCA(N_COLUMNS, svd_solver="covariance_eigh").fit(X[:n_train])
    return pca.transform(X[:n_train]), pca.transform(X[N_TRAIN:])


def default_prior(X):
    """The default prior of the mixtures, from all rows."""
    return FullGaussian(degrees=N_COLUMNS + 2.0).bind(X, np.ones(len(X)))


def round_prior(X, share, mean_weight):
    """Components are expected to be round, with a share of the mean variance of columns."""
    prior = FullGaussian(covariance=share * X.var(axis=0).mean(), mean_weight=mean_weight, degrees=N_COLUMNS + 2.0)
    return prior.bind(X, np.ones(len(X)))


# ---- contestants: (X, size, prior) -> a fitted model, its evidence and its number of components ------------


def batch(X, _, prior):
    model = DirichletProcessMixture(prior).fit(X)
    return model, model.free_energy_, model.n_components_


def memory(X, size, prior):
    model = MemoryBoundedMixture(prior, budget=size, horizon=len(X)).fit(X)
    return model, model.free_energy_, model.n_components_


def particles(X, size, prior, shared=True):
    model = ParticleFilter(size, prior, shared=shared).fit(X)
    return model, model.log_evidence, model.n_components


METHODS = {"batch": batch, "memory": memory, "particles": particles, "copies": partial(particles, shared=False)}
NAMES = {"batch": "batch", "memory": "memory of {:,}", "particles": "{:,} particles"}
NAMES["copies"] = NAMES["particles"] + ", no clusters shared"


def measure(job):
    """What one run reaches; prior is None or (share, mean_weight)."""
    method, size, prior, seed, n_train = job
    X, new = split(seed, n_train)
    prior = round_prior(X, *prior) if prior else default_prior(X)
    start = time.process_time()
    model, evidence, n_components = METHODS[method](X, size, prior)
    seconds = time.process_time() - start
    score = model.score_samples(new).mean()
    return {"score": score, "seconds": seconds, "components": n_components, "evidence": evidence}


# ---- the table -------------------------------------------------------------------------------------------


def summary(runs):
    """Means over splits of one contestant with one prior."""
    row = {key: float(np.mean([run[key] for run in runs])) for key in ("score", "components", "evidence")}
    scores = [run["score"] for run in runs]
    return {**row, "seconds": float(np.median([run["seconds"] for run in runs])), "deviation": np.std(scores)}


def rows_of(found, is_chosen):
    """A row for each contestant, from {(method, size, prior): summary}: with the same prior, or with its own."""
    contestants = {}
    for (method, size, prior), row in found.items():
        if bool(prior) == is_chosen:
            contestants.setdefault((method, size), {})[prior] = row
    rows = []
    for (method, size), priors in contestants.items():
        prior, row = max(priors.items(), key=lambda item: item[1]["evidence"])
        rows.append({"method": NAMES[method].format(size), "kind": method, "size": size, "prior": prior, **row})
    whole = rows[0]
    for row in rows:
        row |= {"gap": whole["score"] - row["score"], "speed_ratio": row["seconds"] / whole["seconds"]}
        if printed := PAPER.get(f"{row['kind']} {row['size']}"):
            row["paper_gap"] = 7.04 - printed
    return rows


def bars(result, rows, words):
    kinds = grouped((row["kind"] for row in rows), rows)
    whole, best = rows[0], max(row["score"] for row in kinds["particles"])
    for row in kinds["memory"]:
        measured = f"{row['score']:.3f} and {best:.3f}"
        result.bar(f"{words}, {row['method']}: ahead of all particle filters", measured, row["score"] > best)
    for row in kinds["particles"] + kinds.get("copies", []):
        ratios = [row["seconds"] / ours["seconds"] for ours in kinds["memory"]]
        measured = ", ".join(f"{ratio:.1f}" for ratio in ratios) + " times"
        result.bar(f"{words}: all memories 10 times faster than {row['method']}", measured, min(ratios) >= 10)
    largest = kinds["memory"][-1]
    loss = largest["gap"] / abs(whole["score"])
    measured = f"{loss:.2%}, {largest['gap']:.3f} nats"
    result.bar(f"{words}, {largest['method']}: within 2% of batch", measured, loss <= 0.02)


def plot(result, tables):
    plt = figures()
    figure, panels = plt.subplots(1, len(tables), figsize=(10, 4), sharex=True, sharey=True)
    looks = {"memory": (OURS, "rows of memory"), "particles": (PEER, "particles")}
    for axes, (words, rows) in zip(panels, tables.items(), strict=True):
        for kind, (color, label) in looks.items():
            some = [row for row in rows if row["kind"] == kind]
            seconds, score, error = (np.array([row[key] for row in some]) for key in ("seconds", "score", "deviation"))
            axes.errorbar(seconds, score, error, fmt="o", ms=6, lw=1.4, capsize=3, color=color, label=label)
            for row in some:
                place = {"xytext": (7, -12), "textcoords": "offset points"}
                axes.annotate(f"{row['size']:,}", (row["seconds"], row["score"]), fontsize=8, color=color, **place)
        whole = rows[0]
        axes.axhline(whole["score"], color=GREY, ls="--", lw=1.2)
        axes.plot(whole["seconds"], whole["score"], "o", color=GREY, label="batch")
        axes.set(xscale="log", xlabel="seconds of the processor", title=f"Digits, {words}")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("log-likelihood of held-out digits, per row")
    panels[0].legend(loc="lower left")
    result.figure(figure)
    plt.close(figure)


def main():
    args = arguments(__doc__)
    n_train, splits, filters = (300, 1, (10, 100)) if args.quick else (N_TRAIN, 5, PARTICLES)
    result = Result(
        "gomes2008_particles", COMMAND, args, n=n_train, d=N_COLUMNS, splits=splits, paper="gomes2008, Tables 2.1, 2.2"
    )
    contestants = [("batch", None), *product(["memory"], MEMORIES), *product(["particles"], filters)]
    priors = [None, *product(SHARES, MEAN_WEIGHTS)]
    cases = [(*who, prior, turn) for who in contestants for prior in priors for turn in range(splits)]
    cases += [("copies", size, None, 0) for size in filters]  # for their seconds alone
    jobs = [(*case, turn + args.seed, n_train) for *case, turn in cases]
    with Workers() as spread:
        runs = grouped((job[:3] for job in jobs), spread(measure, jobs))
        found = {case: summary(done) for case, done in runs.items()}
        if not args.quick:
            taken = max(product(SHARES, MEAN_WEIGHTS), key=lambda prior: found["particles", 1000, prior]["evidence"])
            cases = product(["particles"], [LARGEST], (None, taken), range(splits))
            jobs = [(*case, turn + args.seed, n_train) for *case, turn in cases]
            runs = grouped((job[:3] for job in jobs), spread(measure, jobs))
            found |= {case: summary(done) for case, done in runs.items()}
    tables = {"one prior": rows_of(found, is_chosen=False), "priors by evidence": rows_of(found, is_chosen=True)}
    for words, rows in tables.items():
        result.table(words.replace(" ", "_"), COLUMNS, rows)
    for words, rows in tables.items():
        bars(result, rows, words)
    plot(result, tables)
    result.note("Percentages of a log-likelihood depend on the unit of the pixels; differences in nats don't.")
    result.write()


if __name__ == "__main__":
    main()
