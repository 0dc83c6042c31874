"""Dirichlet-process mixtures of MNIST: modicum in the memory of a few rows against scikit-learn and bnpy.

    python benchmarks/speed/dp_mixture.py [--rows 60000] [--memory 6000] [--quick] [--peer-python bnpy=INTERPRETER]

12,000 digits on 50 principal components, full covariances. Peers have 3,000 rows, as many as fit into our memory, or
all; ours sees all, epoch by epoch. All 60,000 digits, in the memory of 6,000, take half an hour, and have a result of
their own. Each run has a separate process and one thread; what needs over 300 s is left out. Scored on 5,000 test
digits, per row: by the density at the mean parameters (plug-in), computed here for all alike; and by the predictive
density, in which parameters are integrated out, where there is a posterior. Timed: from rows in memory to a fitted
mixture; not timed: imports.

bnpy 0.1.7 needs a separate interpreter: Python 3.9, `pip install "numpy<1.24" "Cython<3" setuptools wheel`, then
`pip install --no-build-isolation bnpy "numpy<1.24"`.
"""

import json
import sys
import tempfile
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, figures
from peers import PEER_OPTIONS, run_rounds

COMMAND = "python benchmarks/speed/dp_mixture.py --peer-python bnpy=INTERPRETER"
USUAL_ROWS = 12_000
N_HELD_OUT = 5000
MODULES = {"modicum": "modicum.mixture.memory_bounded", "scikit-learn": "sklearn.mixture", "bnpy": "bnpy"}


# ---- contestants: (X, memory) -> a dict of the mixture ----------------------------------------------------
# weights, means and covariances; of a Normal-Wishart posterior also mean_weights, degrees and scatters; ours computes
# its predictive density, which includes components not seen yet


def memory_bounded(X, memory):
    from modicum import MemoryBoundedMixture

    return of_modicum(MemoryBoundedMixture(budget=memory, horizon=len(X)).fit(X))


def dirichlet_process(X, memory):
    from modicum import DirichletProcessMixture

    return of_modicum(DirichletProcessMixture().fit(X))


def of_modicum(model):
    found = {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}
    return {**found, "score_samples": model.score_samples}


def bayesian_gaussian_mixture(k, X, memory):
    from sklearn.mixture import BayesianGaussianMixture

    model = BayesianGaussianMixture(n_components=k, max_iter=100, random_state=0).fit(X)
    found = {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}
    scatters = model.covariances_ * model.degrees_of_freedom_[:, None, None]
    return {**found, "mean_weights": model.mean_precision_, "degrees": model.degrees_of_freedom_, "scatters": scatters}


def gaussian_mixture(k, X, memory):
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(k, max_iter=100, reg_covar=1e-3, random_state=0).fit(X)
    return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}


def bnpy_memoized(X, memory):
    """Memoized variational inference with births and merges, in batches of 3,000."""
    import bnpy

    with tempfile.TemporaryDirectory() as folder:
        learning = {"nLap": 40, "nTask": 1, "nBatch": max(2, len(X) // 3000), "moves": "birth,merge,shuffle"}
        learning |= {"m_startLap": 5, "b_startLap": 2, "b_Kfresh": 10, "K": 25, "initname": "randexamplesbydist"}
        prior = {"gamma0": 1.0, "sF": 0.1, "ECovMat": "eye"}
        places = {"output_path": folder, "doWriteStdOut": False, "taskid": 0}
        model, _ = bnpy.run(bnpy.data.XData(X), "DPMixtureModel", "Gauss", "memoVB", **learning, **prior, **places)
    weights, posterior = model.allocModel.get_active_comp_probs(), model.obsModel.Post
    covariances = np.array([model.obsModel.get_covar_mat_for_comp(k) for k in range(len(weights))])
    found = {"weights": weights, "means": posterior.m, "covariances": covariances}
    return {**found, "mean_weights": posterior.kappa, "degrees": posterior.nu, "scatters": posterior.B}


KINDS = {  # name: (function, package)
    "modicum, batch": (dirichlet_process, "modicum"),
    "BayesianGaussianMixture, 100": (partial(bayesian_gaussian_mixture, 100), "scikit-learn"),
    "BayesianGaussianMixture, 30": (partial(bayesian_gaussian_mixture, 30), "scikit-learn"),
    "GaussianMixture, 30": (partial(gaussian_mixture, 30), "scikit-learn"),
    "bnpy, memoized": (bnpy_memoized, "bnpy"),
}
STREAM = "modicum, a stream"
CONTESTANTS = {STREAM: (memory_bounded, "modicum", "all")} | {
    f"{name}, {rows} rows": (*kind, rows) for rows in ("some", "all") for name, kind in KINDS.items()
}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("rows", "rows seen", ",d"),
    ("plug_in", "log-likelihood, plug-in", ".2f"),
    ("predictive", "predictive", ".2f"),
    ("components", "components", "d"),
    ("cpu_seconds", "processor s", ".1f"),
    ("extra_mib", "extra MiB", ".0f"),
    ("status", "", ""),
]


# ---- the score -------------------------------------------------------------------------------------------


def log_densities(X, means, covariances, log_kernel):
    """log_kernel(k, squared Mahalanobis distances) minus half the log-determinant, for all rows and components."""
    from scipy.linalg import cholesky, solve_triangular

    found = np.empty((len(X), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances)):  # noqa: B905, bnpy has Python 3.9
        root = cholesky(covariance, lower=True)
        steps = solve_triangular(root, (X - mean).T, lower=True)
        found[:, k] = log_kernel(k, (steps**2).sum(axis=0)) - np.log(np.diag(root)).sum()
    return found


def plug_in(X, found):
    """Mean log density of Gaussians with the given weights, means and covariances."""
    d = X.shape[1]
    densities = log_densities(
        X, found["means"], found["covariances"], lambda k, gaps: -0.5 * (d * np.log(2 * np.pi) + gaps)
    )
    return mixed(densities, found["weights"])


def predictive(X, found):
    """Mean log density of the Student-t distributions that predict a row of each component."""
    from scipy.special import gammaln

    if "score_samples" in found:
        return float(found["score_samples"](X).mean())
    if "degrees" not in found:
        return None
    d, weights, degrees = X.shape[1], found["mean_weights"], found["degrees"]
    free = degrees - d + 1
    scales = found["scatters"] * ((weights + 1) / (weights * free))[:, None, None]
    heights = gammaln((free + d) / 2) - gammaln(free / 2) - d / 2 * np.log(free * np.pi)
    densities = log_densities(
        X, found["means"], scales, lambda k, gaps: heights[k] - (free[k] + d) / 2 * np.log1p(gaps / free[k])
    )
    return mixed(densities, found["weights"])


def mixed(densities, weights):
    from scipy.special import logsumexp

    return float(logsumexp(densities, b=weights, axis=1).mean())


def worker(name, path, memory):
    """Run one contestant and print one JSON line."""
    with np.load(path) as arrays:  # made once, so that the memory measured is the contestant's
        X, new = arrays["X"], arrays["new"]
    run, package, rows = CONTESTANTS[name]
    X = X[:memory] if rows == "some" else X
    warnings.simplefilter("ignore")  # not converged after 100 steps
    import_module(MODULES[package])  # not timed
    with Meter() as meter:
        found = run(X, memory)
    facts = {"plug_in": plug_in(new, found), "predictive": predictive(new, found), "rows": len(X)}
    print(json.dumps({**meter.facts(), **facts, "components": int((found["weights"] > 1e-3).sum())}))


# ---- the tables ------------------------------------------------------------------------------------------


def summary(name, run, n, memory):
    rows = memory if CONTESTANTS[name][2] == "some" else n
    label = f"{STREAM}, memory of {memory:,}" if name == STREAM else name.rsplit(", ", 1)[0]
    row = {"contestant": label, "rows": rows, "is_ours": name.startswith("modicum"), **run}
    if run["status"] == "ok":
        row |= {"extra_mib": run["extra_bytes"] / MIB, "status": ""}
    return row


def bars(result, equal, whole):
    ours = equal[0]
    if ours["status"]:
        result.bar("all bars", f"ours did not run: {ours['status']}", None)
        return
    for rows, words in ((equal, "in the same memory"), (whole, "with all rows in memory")):
        for row in rows:
            if row["is_ours"]:
                continue
            wish = f"above {row['contestant']}, {words}: plug-in, predictive"
            if row["status"]:
                result.bar(wish, f"the peer: {row['status']}", None)
                continue
            pairs = [(ours[key], row[key]) for key in ("plug_in", "predictive") if row[key] is not None]
            measured = "; ".join(f"{mine:.2f} and {its:.2f}" for mine, its in pairs)
            result.bar(wish, measured, all(mine > its for mine, its in pairs))


def plot(result, groups):
    """Likelihood and seconds of all contestants, group by group from the top."""
    plt = figures()
    figure, (scores, seconds) = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, width_ratios=[1.6, 1])
    ticks, y = {}, 0.0
    for title, rows in groups.items():
        scores.text(0.012, y, title, transform=scores.get_yaxis_transform(), color=GREY, va="center", fontweight="bold")
        for row in rows:
            y -= 1
            ticks[y] = row["contestant"]
            color = OURS if row["is_ours"] else PEER
            if row["status"]:
                place = {"transform": seconds.get_yaxis_transform(), "ha": "right", "va": "center"}
                seconds.text(0.98, y, row["status"][:40], color=color, **place)
                continue
            if row["predictive"] is not None:
                scores.plot([row["plug_in"], row["predictive"]], [y, y], "-", lw=1.2, color=color, alpha=0.5)
                scores.plot(row["predictive"], y, "o", ms=6, mfc="white", color=color)
            scores.plot(row["plug_in"], y, "o", ms=6, color=color)
            seconds.plot(row["cpu_seconds"], y, "o", ms=6, color=color)
        y -= 1.5
    scores.set_yticks(list(ticks), list(ticks.values()))
    scores.set(xlabel="log-likelihood of new digits; full: plug-in, hollow: predictive", ylim=(y + 1, 0.8))
    seconds.set(xlabel="seconds of the processor", xscale="log")
    seconds.xaxis.set_major_formatter("{x:g}")
    result.figure(figure)
    plt.close(figure)


def main():
    sizes = {name: {"type": int, "default": count} for name, count in (("rows", USUAL_ROWS), ("memory", 3000))}
    args = arguments(__doc__, **sizes, **(PEER_OPTIONS | {"limit": {"type": float, "default": 300.0}}))
    from modicum.datasets import mnist_principal

    n, memory = (6000, 2000) if args.quick else (args.rows, args.memory)
    args.repeat = 1  # minutes each, and the scores don't vary
    name, command = "dp_mixture", COMMAND
    if n > USUAL_ROWS:  # a result of its own
        name = f"dp_mixture_{n}"
        command = f"{COMMAND} --rows {n} --memory {memory} --limit {args.limit:g}"
    result = Result(name, command, args, n=n, d=50, memory=memory, limit_seconds=args.limit)
    X, _, X_test, _ = mnist_principal()
    packages = {name: package for name, (_, package, _) in CONTESTANTS.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.npz"
        np.savez(path, X=X[:n], new=X_test[:N_HELD_OUT])
        runs = run_rounds(__file__, packages, lambda turn: (path, memory), args)
    found = {name: summary(name, done[-1], n, memory) for (name, _), done in runs.items()}
    ours = found.pop(STREAM)
    equal = [ours] + [row for row in found.values() if row["rows"] == memory]
    whole = [ours] + [row for row in found.values() if row["rows"] == n]
    result.table("equal_memory", COLUMNS, equal)
    result.table("all_rows", COLUMNS, whole)
    bars(result, equal, whole)
    plot(result, {f"In the memory of {memory:,} rows": equal, f"With all {n:,} rows in memory": whole[1:]})
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
