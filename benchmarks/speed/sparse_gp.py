"""Gaussian process regression with 200 points on KIN40K: modicum against scikit-learn and GPyTorch.

    python benchmarks/speed/sparse_gp.py [--quick] [--peer-python INTERPRETER]

10,000 training rows of 8 columns, 30,000 test rows, as they come. A process for each contestant, 2 threads, one run.
Seconds are from rows in memory to a model that can predict, hyper-parameters included unless they are given; "passes"
is how often training rows are read. GPyTorch with Adam, as its examples have it: SVGP with minibatches and a rate of
0.01, SGPR with all rows at each step and a rate of 0.1; inducing points start at random rows, widths at 2.8.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import GREY, MIB, OURS, PEER, Meter, Result, arguments, data_file, figures
from peers import PEER_OPTIONS, interpreters, run_worker

COMMAND = "python benchmarks/speed/sparse_gp.py"
FIRST_WIDTH, FIRST_NOISE = 2.8, 0.1
DEFAULT, GIVEN, ACTIVE = (f"modicum SparseGPRegressor{kind}" for kind in ("", ", given", ", given, active rows only"))


def kin40k():
    """Training and test rows and targets, for interpreters without modicum."""
    found = data_file("kin40k.npz")
    return [found[name].astype(np.float64) for name in ("x_train", "y_train", "x_test", "y_test")]


# ---- contestants: (X, y, m, seed) -> (prepare, fit); fit(prepared) -> predict -----------------------------


def sparse_gp(X, y, m, seed):
    from modicum import SparseGPRegressor

    return None, lambda _: SparseGPRegressor(m, random_state=seed).fit(X, y).predict


def _given(X, y, m, seed, **options):
    """With hyper-parameters of the exact process on 2,000 rows, as in gomes2010; their fit is timed apart."""
    from modicum import SparseGPRegressor
    from modicum.kernels.marginal_likelihood import fit_hyperparameters

    def prepare():
        some = np.random.default_rng(seed).permutation(len(X))[:2000]
        return fit_hyperparameters("rbf-ard", X[some], y[some])

    def fit(found):
        kernel, noise, _ = found
        return SparseGPRegressor(m, kernel=kernel, noise=noise, random_state=seed, **options).fit(X, y).predict

    return prepare, fit


def sparse_gp_given(X, y, m, seed):
    return _given(X, y, m, seed)


def sparse_gp_active(X, y, m, seed):
    return _given(X, y, m, seed, n_validation=2000, predictor="active")


def sklearn_some(X, y, m, seed):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    def fit(_):
        some = np.random.default_rng(seed).permutation(len(X))[:m]
        kernel = ConstantKernel() * RBF(np.full(X.shape[1], FIRST_WIDTH)) + WhiteKernel(FIRST_NOISE)
        return GaussianProcessRegressor(kernel, random_state=seed).fit(X[some], y[some]).predict

    return None, fit


def _tensors(X, y, m, seed):
    import torch

    torch.manual_seed(seed)
    rows, targets = (torch.tensor(a, dtype=torch.float32) for a in (X, y))
    return rows, targets, rows[torch.randperm(len(X))[:m]].clone()


def _ard_kernel(columns):
    import gpytorch

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=columns))
    kernel.base_kernel.lengthscale = FIRST_WIDTH
    return kernel


def _descend(parameters, rate, losses):
    """Adam over closures that give the loss."""
    import torch

    optimizer = torch.optim.Adam(parameters, lr=rate)
    for loss in losses:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def _mean_of(model):
    """A predictor of arrays."""
    import gpytorch
    import torch

    def predict(X):
        with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
            parts = torch.tensor(X, dtype=torch.float32).split(2000)
            return np.concatenate([model(part).mean.numpy() for part in parts])

    return predict


def _svgp(X, y, m, seed, passes, batch):
    import gpytorch
    import torch

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            spread = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            strategy = gpytorch.variational.VariationalStrategy
            super().__init__(strategy(self, points, spread, learn_inducing_locations=True))
            self.mean, self.kernel = gpytorch.means.ConstantMean(), _ard_kernel(points.shape[1])

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

    def fit(_):
        rows, targets, points = _tensors(X, y, m, seed)
        model, likelihood = Model(points), gpytorch.likelihoods.GaussianLikelihood()
        bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
        batches = (part for _ in range(passes) for part in torch.randperm(len(X)).split(batch))
        losses = (lambda part=part: -bound(model(rows[part]), targets[part]) for part in batches)
        _descend([*model.parameters(), *likelihood.parameters()], 0.01, losses)
        return _mean_of(model.eval())

    return None, fit


def svgp_once(X, y, m, seed):
    return _svgp(X, y, m, seed, passes=1, batch=100)


def svgp(X, y, m, seed):
    return _svgp(X, y, m, seed, passes=20, batch=500)


def sgpr(X, y, m, seed):
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, rows, targets, likelihood, points):
            super().__init__(rows, targets, likelihood)
            self.mean, inner = gpytorch.means.ConstantMean(), _ard_kernel(rows.shape[1])
            self.kernel = gpytorch.kernels.InducingPointKernel(inner, points, likelihood)

        def forward(self, rows):
            return gpytorch.distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

    def fit(_):
        rows, targets, points = _tensors(X, y, m, seed)
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Model(rows, targets, likelihood, points).train()
        likelihood.train()
        bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        _descend(model.parameters(), 0.1, (lambda: -bound(model(rows), targets) for _ in range(80)))
        likelihood.eval()
        return _mean_of(model.eval())

    return None, fit


CONTESTANTS = {  # name: (function, package, passes, remark)
    DEFAULT: (sparse_gp, "modicum", "1", "hyper-parameters adapted along the stream"),
    GIVEN: (sparse_gp_given, "modicum", "1", "hyper-parameters fitted to 2,000 rows beforehand"),
    ACTIVE: (
        sparse_gp_active,
        "modicum",
        "1",
        "gomes2010; hyper-parameters fitted to 2,000 rows beforehand",
    ),
    "scikit-learn GPR, random rows": (sklearn_some, "scikit-learn", "0.02", "as many rows as the others have points"),
    "GPyTorch SVGP, 1 pass": (svgp_once, "gpytorch", "1", "batches of 100"),
    "GPyTorch SVGP, 20 passes": (svgp, "gpytorch", "20", "batches of 500"),
    "GPyTorch SGPR": (sgpr, "gpytorch", "80", "all rows at each step"),
}
COLUMNS = [
    ("contestant", "contestant", ""),
    ("mse", "test MSE", ".4f"),
    ("seconds", "seconds", ".1f"),
    ("prepare_seconds", "before, s", ".1f"),
    ("predict_seconds", "30,000 predictions, s", ".2f"),
    ("passes", "passes", ""),
    ("extra_mib", "extra MiB", ".0f"),
    ("remark", "remark", ""),
]


# ---- runs --------------------------------------------------------------------------------------------------


def worker(name, n, m, seed):
    """Run one contestant and print one JSON line."""
    from importlib.metadata import version

    make, package, *_ = CONTESTANTS[name]
    X, y, X_test, y_test = kin40k()
    X, y = X[:n], y[:n]
    if package == "modicum":  # compiles what is compiled
        prepare, fit = make(X[:700], y[:700], 5, seed)
        fit(prepare() if prepare else None)(X_test[:100])
    prepare, fit = make(X, y, m, seed)
    start = time.perf_counter()
    prepared = prepare() if prepare else None
    facts = {"prepare_seconds": time.perf_counter() - start if prepare else None}
    with Meter() as meter:
        predict = fit(prepared)
    start = time.perf_counter()
    facts["mse"] = float(np.mean((predict(X_test) - y_test) ** 2))
    facts |= {"predict_seconds": time.perf_counter() - start, "version": f"{package} {version(package)}"}
    print(json.dumps({**meter.facts(), **facts}))


def plot(result, rows):
    plt = figures()
    figure, axes = plt.subplots(figsize=(8, 4.4))
    for row in rows:
        if "mse" in row:
            color = OURS if row["contestant"].startswith("modicum") else PEER
            axes.plot(row["seconds"], row["mse"], "o", color=color)
            label = f"{row['contestant']} ({row['passes']})"
            axes.annotate(label, (row["seconds"], row["mse"]), (6, 3), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="seconds", title="Test error on KIN40K with 200 points")
    axes.set_xlim(right=axes.get_xlim()[1] * 6)
    figure.supxlabel("in brackets: passes over the training rows", fontsize=8, color=GREY)
    result.figure(figure)
    plt.close(figure)


def bars(result, rows):
    found = {row["contestant"]: row for row in rows if "mse" in row}
    ours, given = found[DEFAULT], found[GIVEN]
    result.bar(
        "projected process, given hyper-parameters: MSE at most 0.11", f"{given['mse']:.4f}", given["mse"] <= 0.11
    )
    result.bar("in under 30 s", f"{given['seconds']:.1f} s", given["seconds"] < 30)
    result.bar(
        "with hyper-parameters adapted along the stream: MSE at most 0.08", f"{ours['mse']:.4f}", ours["mse"] <= 0.08
    )
    result.bar("in under 30 s, their fit included", f"{ours['seconds']:.1f} s", ours["seconds"] < 30)


def main():
    args = arguments(
        __doc__, threads={"type": int, "default": 2}, **(PEER_OPTIONS | {"limit": {"type": float, "default": 300.0}})
    )
    n, m = (1000, 20) if args.quick else (10000, 200)
    result = Result("sparse_gp", COMMAND, args, n=n, points=m, worker_threads=args.threads, limit_seconds=args.limit)
    pythons, rows = interpreters(args.peer_python), []
    for name, (_, package, passes, remark) in CONTESTANTS.items():
        sizes = (n, m, args.seed)
        run = run_worker(__file__, name, package, sizes, threads=args.threads, limit=args.limit, pythons=pythons)
        row = {"contestant": name, "passes": passes, **run}
        row["extra_mib"] = run["extra_bytes"] / MIB if "extra_bytes" in run else None
        measured = "{mse:.4f}, {seconds:.1f} s".format(**run) if "mse" in run else run["status"]
        print(f"{name}: {measured}", file=sys.stderr, flush=True)
        rows.append({**row, "remark": remark if run["status"] == "ok" else f"{run['status']}; {remark}"})
    result.table("kin40k", COLUMNS, rows)
    bars(result, rows)
    plot(result, rows)
    result.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
